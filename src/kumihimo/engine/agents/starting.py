"""From a client's name to what it takes to start it, for whoever starts agents here."""

from __future__ import annotations

from kumihimo.engine.agents import registry
from kumihimo.engine.agents.client import Client, Start
from kumihimo.engine.agents.health import find_program, why_missing
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.settings import Client as Override


class SpawnFailed(Exception):
    """The agent can't be started; the text says why."""


def lay_out(folder: RunFolder, start: Start) -> None:
    """The files and links that a run needs before it begins."""
    folder.prepare(start.stdin)
    for path, content in start.files.items():
        folder.write(path, content)
    for path, target in start.links.items():
        if not target.exists():
            target.mkdir(mode=0o700, parents=True)
        folder.link(path, target)


def program_of(client: Client, own: Override) -> list[str]:
    """The command of a client: what the settings say, else its program on PATH. SpawnFailed where there is none."""
    found = find_program(client, own)
    if found is None:
        raise SpawnFailed(why_missing(client, own))
    return [found, *(own.command or ())[1:]]


def client_named(name: str) -> Client:
    try:
        return registry.find(name)
    except registry.UnknownClient:
        raise SpawnFailed(f"there is no client called {name[:60]}") from None
