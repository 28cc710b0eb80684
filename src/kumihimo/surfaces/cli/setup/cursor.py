"""Cursor: `.cursor/mcp.json` of a repository or of the user."""

from __future__ import annotations

from kumihimo.surfaces.cli.setup.client import Client
from kumihimo.surfaces.cli.setup.place import Place


def _user_file(place: Place) -> str:
    return place.in_home(".cursor", "mcp.json")


def _repository_file(place: Place) -> str:
    return place.in_repository(".cursor", "mcp.json")


CLIENT = Client(
    "cursor",
    "Cursor",
    "json",
    "mcpServers",
    {"repo": _repository_file, "user": _user_file},
)
