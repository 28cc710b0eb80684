"""Codex: `config.toml` in `.codex` of a repository (read once the folder is trusted) or of the user."""

from __future__ import annotations

from kumihimo.surfaces.cli.setup.client import Client
from kumihimo.surfaces.cli.setup.place import Place


def _user_file(place: Place) -> str:
    return place.moved("CODEX_HOME", "config.toml") or place.in_home(".codex", "config.toml")


def _repository_file(place: Place) -> str:
    return place.in_repository(".codex", "config.toml")


CLIENT = Client("codex", "Codex", "toml", "mcp_servers", {"repo": _repository_file, "user": _user_file})
