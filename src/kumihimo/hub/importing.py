"""Servers that other clients on this machine are configured with, as entries of ours.

Nothing is started, asked or filled in: where a client names a variable, so does the entry. Our own server, which those
clients may have too, is left out: a hub that had it would call itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kumihimo.domain.ourselves import is_own
from kumihimo.hub.configuration import Mistake, Options, ServerConfig, server_of
from kumihimo.hub.foreign_clients import CLIENTS, Source, Unreadable, document
from kumihimo.hub.foreign_entries import Unusable, entry_of
from kumihimo.hub.foreign_variables import variables_in
from kumihimo.hub.tools import Table


class Skipped(NamedTuple):
    """`name` is None where it is the file itself that can't be read."""

    name: str | None
    reason: str


class Found(NamedTuple):
    """A file of a client. `servers` are entries for `mcpServers` or, with their names, for `servers`; `needs` are the
    variables that must be set for them."""

    client: str
    file: Path
    servers: dict[str, Table]
    needs: dict[str, tuple[str, ...]]
    skipped: tuple[Skipped, ...]


class Chosen(NamedTuple):
    found: Found
    entry: Table


class Collision(NamedTuple):
    """A server that is not new: `name` in the file of `found` is the same as, or no more than called as, `other`."""

    name: str
    found: Found
    other: str


class Combined(NamedTuple):
    """Of all that was found: what is new, what is known already under some name, and what only has the name of another."""

    new: dict[str, Chosen]
    duplicates: tuple[Collision, ...]
    clashes: tuple[Collision, ...]


def found_in(folder: Path, home: Path) -> list[Found]:
    """What clients have for this project, then what they have for this user. A file that is not there is left out."""
    of_project: list[Found] = []
    of_user: list[Found] = []
    for source in CLIENTS:
        # What the user has alone for a project comes before what all have who work on it.
        files = {home / name: True for name in source.in_home} | {folder / name: False for name in source.in_project}
        for file, of_home in files.items():
            if file.is_file():
                project, user = _read(source, file, folder if of_home else None)
                of_project += project
                of_user += user
    return [*of_project, *of_user]


def combined(found: Sequence[Found], known: Mapping[str, Table] | None = None) -> Combined:
    """`known` are entries that there are already, good or not. Of two that clash, the first that was found counts."""
    seen = {name: _config_if_any(entry) for name, entry in (known or {}).items()}
    new: dict[str, Chosen] = {}
    duplicates: list[Collision] = []
    clashes: list[Collision] = []
    for each in found:
        for name, entry in each.servers.items():
            config = _config(entry)
            same = next((other for other, theirs in seen.items() if theirs == config), None)
            if same is not None:
                duplicates.append(Collision(name, each, same))
            elif name in seen:
                clashes.append(Collision(name, each, name))
            else:
                seen[name] = config
                new[name] = Chosen(each, entry)
    return Combined(new, tuple(duplicates), tuple(clashes))


def _config_if_any(entry: Table) -> ServerConfig | None:
    """A mistake in our own file is told by who reads it; its name is taken all the same."""
    try:
        return _config(entry)
    except Mistake:
        return None


def _config(entry: Table) -> ServerConfig:
    """What an entry says, whatever it is called."""
    return server_of({**entry, "name": "any"}, Options(), foreign=True)


def _read(source: Source, file: Path, folder: Path | None) -> tuple[list[Found], list[Found]]:
    """What a file has for the project, and for the user where it is the user's: then `folder` is the project's."""
    try:
        content = document(file)
    except Unreadable as error:
        broken = [Found(source.name, file, {}, {}, (Skipped(None, str(error)),))]
        return (broken, []) if folder is None else ([], broken)
    own = [_found(source, file, table)] if (table := source.servers(content)) else []
    if folder is None:
        return own, []
    local = source.of_project(content, folder)
    return ([_found(source, file, local)] if local else []), own


def _found(source: Source, file: Path, table: Table) -> Found:
    servers: dict[str, Table] = {}
    skipped: list[Skipped] = []
    for name, raw in table.items():
        try:
            entry = entry_of(raw, source.dialect)
            server_of({**entry, "name": name}, Options())
            if is_own(name, entry):
                raise Unusable("it is this program's own server")
        except Unusable as error:
            skipped.append(Skipped(name, str(error)))
        except Mistake as mistake:
            skipped.append(Skipped(name, mistake.reason))
        else:
            servers[name] = entry
    needs = {name: variables for name, entry in servers.items() if (variables := variables_in(entry))}
    return Found(source.name, file, servers, needs, tuple(skipped))
