"""VS Code: `.vscode/mcp.json` of a repository, `mcp.json` of the user's default profile."""

from __future__ import annotations

from kumihimo.surfaces.cli.setup.client import Client
from kumihimo.surfaces.cli.setup.place import Place

_PROFILE = ("Code", "User", "mcp.json")


def _user_file(place: Place) -> str:
    """Where VS Code itself looks, in its order: portable mode, a moved folder, then what the system has for it."""
    portable = place.moved("VSCODE_PORTABLE", "user-data", "User", "mcp.json")
    return portable or place.moved("VSCODE_APPDATA", *_PROFILE) or _usual_file(place)


def _usual_file(place: Place) -> str:
    if place.platform == "darwin":
        return place.in_home("Library", "Application Support", *_PROFILE)
    return place.moved("XDG_CONFIG_HOME", *_PROFILE) or place.in_home(".config", *_PROFILE)


def _repository_file(place: Place) -> str:
    return place.in_repository(".vscode", "mcp.json")


CLIENT = Client(
    "vscode",
    "VS Code",
    "json",
    "servers",
    {"repo": _repository_file, "user": _user_file},
    extra={"type": "stdio"},
)
