"""Every client that can be set up."""

from __future__ import annotations

from kumihimo.surfaces.cli.setup import claude, codex, cursor, gemini, vscode, windsurf
from kumihimo.surfaces.cli.setup.client import Client

CLIENTS: tuple[Client, ...] = (
    claude.CLIENT,
    codex.CLIENT,
    cursor.CLIENT,
    gemini.CLIENT,
    vscode.CLIENT,
    windsurf.CLIENT,
)

NAMES: tuple[str, ...] = tuple(client.name for client in CLIENTS)


def named(name: str) -> Client:
    return next(client for client in CLIENTS if client.name == name)
