"""Windsurf (now Devin Desktop): one file for the user; it has none for a repository."""

from __future__ import annotations

from kumihimo.surfaces.cli.setup.client import Client
from kumihimo.surfaces.cli.setup.place import Place


def _user_file(place: Place) -> str:
    return place.in_home(".codeium", "windsurf", "mcp_config.json")


CLIENT = Client("windsurf", "Windsurf", "json", "mcpServers", {"user": _user_file})
