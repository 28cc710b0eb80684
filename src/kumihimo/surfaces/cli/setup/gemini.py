"""Gemini CLI: `.gemini/settings.json` of a repository or of the user. It reads comments, but no trailing commas."""

from __future__ import annotations

from kumihimo.surfaces.cli.setup.client import Client
from kumihimo.surfaces.cli.setup.place import Place


def _user_file(place: Place) -> str:
    # The variable stands for the home folder, not for `.gemini` in it.
    return place.moved("GEMINI_CLI_HOME", ".gemini", "settings.json") or place.in_home(".gemini", "settings.json")


def _repository_file(place: Place) -> str:
    return place.in_repository(".gemini", "settings.json")


CLIENT = Client(
    "gemini",
    "Gemini CLI",
    "json",
    "mcpServers",
    {"repo": _repository_file, "user": _user_file},
    refuses=frozenset({"trailing_comma"}),
)
