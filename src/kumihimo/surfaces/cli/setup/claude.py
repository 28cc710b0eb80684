"""Claude Code: `.mcp.json` of a repository, `~/.claude.json` of the user. It reads plain JSON only."""

from __future__ import annotations

from pathlib import Path

from kumihimo.surfaces.cli.setup.client import Client
from kumihimo.surfaces.cli.setup.place import Place


def _user_file(place: Place) -> str:
    # An older name: where that file is, Claude Code reads no other.
    older = place.moved("CLAUDE_CONFIG_DIR", ".config.json") or place.in_home(".claude", ".config.json")
    if Path(older).exists():
        return older
    return place.moved("CLAUDE_CONFIG_DIR", ".claude.json") or place.in_home(".claude.json")


def _repository_file(place: Place) -> str:
    return place.in_repository(".mcp.json")


CLIENT = Client(
    "claude",
    "Claude Code",
    "json",
    "mcpServers",
    {"repo": _repository_file, "user": _user_file},
    refuses=frozenset({"comment", "trailing_comma"}),
)
