"""The servers behind the hub of a project, as its configuration names them: put there, taken out, taken over from others."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, field

from kumihimo.domain.errors import (
    ConfigError,
    ForeignServerNotFound,
    InvalidValue,
    NameTaken,
    NoProject,
    ProjectNotFound,
    ProjectUnclear,
    ServerNotFound,
)
from kumihimo.operations.operation import Arguments, Call, Shape, operation
from kumihimo.services.projects import Place
from kumihimo.services.references import missing, nearest

if TYPE_CHECKING:
    from kumihimo.domain.project import Project
    from kumihimo.hub.importing import Combined, Found
    from kumihimo.services.board import Board

_Texts = list[str]


class AddServer(Arguments, frozen=True):
    name: Annotated[str, Meta(description="What it is called here.")]
    command: Annotated[_Texts, Meta(description="The program that it is, with its arguments.")] = field(
        default_factory=_Texts
    )
    url: Annotated[str | None, Meta(description="Where it is, if it runs already: http(s):// or ws(s)://.")] = None
    transport: Annotated[
        Literal["http", "sse", "websocket"] | None, Meta(description="How to speak to a URL; http if left out.")
    ] = None
    env: Annotated[_Texts, Meta(description="Of a program: a variable that it gets, NAME=VALUE.")] = field(
        default_factory=_Texts
    )
    header: Annotated[_Texts, Meta(description="Of a URL: a header of every request, NAME=VALUE.")] = field(
        default_factory=_Texts
    )


class NameServer(Arguments, frozen=True):
    name: Annotated[str, Meta(description="What it is called here.")]


class ImportServers(Arguments, frozen=True):
    names: Annotated[_Texts, Meta(description="Only these.")] = field(default_factory=_Texts)
    client: Annotated[_Texts, Meta(description="Only from this client.")] = field(default_factory=_Texts)
    dry_run: Annotated[bool, Meta(description="Only say what would be taken over.")] = False


class ServerEntry(Shape, frozen=True):
    """A server and the file that names it, or did."""

    name: str
    file: str


class RemovedServer(ServerEntry, frozen=True):
    """`still_in` is the next file that names one of this name, where there is one."""

    still_in: str | None = None


class ImportedServer(Shape, frozen=True):
    name: str
    outcome: str
    client: str
    detail: str
    source: str


class ImportedServers(Shape, frozen=True):
    servers: list[ImportedServer]
    file: str


@operation("server.add", AddServer, ServerEntry, ConfigError, InvalidValue, NameTaken, ProjectNotFound)
def add(call: Call, arguments: AddServer) -> ServerEntry:
    """Put a server behind the hub: write it into the configuration of the project.

    Secrets are better named than written: `--header 'Authorization=Bearer ${API_KEY}'`.
    """
    from kumihimo.hub.configuration import Mistake, Options, server_of
    from kumihimo.hub.configuration_file import define, is_ourselves
    from kumihimo.hub.configuration_writing import add_server
    from kumihimo.hub.places import file_to_write

    entry = _entry(arguments)
    folder = _folder(call)
    file = file_to_write(folder, call.settings)
    # What the hub would not take is not written.
    named = {"name": arguments.name, **entry}
    try:
        server_of(named, Options())
    except Mistake as mistake:
        raise InvalidValue(str(next(iter(mistake.path), "name")), "malformed", reason=mistake.reason) from None
    if is_ourselves(named, os.environ, folder):
        name = "url" if arguments.url else "command"
        raise InvalidValue(name, "malformed", reason="that is Kumihimo itself, and a hub that had it would call itself")
    define(named, Options(), os.environ, folder, where=lambda _: str(file))
    add_server(file, arguments.name, entry)
    return ServerEntry(name=arguments.name, file=str(file))


@operation("server.remove", NameServer, RemovedServer, ConfigError, ProjectNotFound, ServerNotFound, destructive=True)
def remove(call: Call, arguments: NameServer) -> RemovedServer:
    """Take a server from behind the hub: out of the file that names it."""
    from kumihimo.hub.configuration_writing import entries_in, remove_server
    from kumihimo.hub.places import files_of

    files = files_of(_folder(call), call.settings)
    for index, file in enumerate(files):
        if arguments.name in entries_in(file):
            remove_server(file, arguments.name)
            still = next((it for it in files[index + 1 :] if _names(it, arguments.name)), None)
            return RemovedServer(name=arguments.name, file=str(file), still_in=None if still is None else str(still))
    raise missing(ServerNotFound, arguments.name, (name for file in files for name in entries_in(file)))


def _names(file: Path, server: str) -> bool:
    """Not where it can't be read: it is told by who reads it, and what was asked for is done."""
    from kumihimo.hub.configuration_writing import entries_in

    try:
        return server in entries_in(file)
    except ConfigError:
        return False


@operation(
    "server.import", ImportServers, ImportedServers, ConfigError, ForeignServerNotFound, InvalidValue, ProjectNotFound
)
def import_(call: Call, arguments: ImportServers) -> ImportedServers:
    """Take over the servers that other clients on this machine have.

    Nothing is started and no secret is copied: where a client names a variable, so does the entry. A server whose variables
    are not set here is left out until they are.
    """
    from kumihimo.hub.configuration_writing import add_server, entries_in
    from kumihimo.hub.foreign_clients import CLIENTS
    from kumihimo.hub.importing import combined, found_in
    from kumihimo.hub.places import file_to_write, files_of

    _require_clients(arguments.client, [source.name for source in CLIENTS])
    folder = _folder(call)
    # One that was named may be the first to be written.
    own = [file for file in files_of(folder, call.settings) if file.is_file()]
    read = {file.resolve() for file in own}
    # What is read from our own file anyway is not taken over from it.
    found = [
        it
        for it in found_in(folder, Path.home())
        if it.file.resolve() not in read and (not arguments.client or it.client in arguments.client)
    ]
    _require_names(arguments.names, found)
    known = {name: entry for file in reversed(own) for name, entry in entries_in(file).items()}
    together = combined(found, known)
    told = _told(together, found, arguments)
    target = file_to_write(folder, call.settings)
    if not arguments.dry_run:
        for it in told:
            if it.outcome == _IMPORTED:
                add_server(target, it.name, together.new[it.name].entry)
    return ImportedServers(servers=told, file=str(target))


def _require_clients(named: Sequence[str], known: Sequence[str]) -> None:
    for name in named:
        if name not in known:
            near = nearest(name[:60], known)
            raise InvalidValue("client", "no_such_client", value=name[:60], choices=", ".join(known), near=near)


def _require_names(named: Sequence[str], found: Sequence[Found]) -> None:
    """ForeignServerNotFound where no client has one of these, also none that can't be used."""
    there = {name for each in found for name in (*each.servers, *(it.name for it in each.skipped)) if name is not None}
    for name in named:
        if name not in there:
            raise missing(ForeignServerNotFound, name, there)


_IMPORTED = "imported"


def _told(together: Combined, found: Sequence[Found], arguments: ImportServers) -> list[ImportedServer]:
    rows: list[ImportedServer] = []
    for name, chosen in together.new.items():
        unset = [it for it in chosen.found.needs.get(name, ()) if it not in os.environ]
        outcome = "would be imported" if arguments.dry_run else _IMPORTED
        if arguments.names and name not in arguments.names:
            outcome = "skipped"
        elif unset:
            outcome = "needs variables"
        rows.append(_row(name, outcome, chosen.found, ", ".join(unset)))
    rows += [_row(it.name, "known already", it.found, it.other) for it in together.duplicates]
    rows += [_row(it.name, "name is taken", it.found, it.other) for it in together.clashes]
    rows += [_row(it.name or "-", "can't be used", each, it.reason) for each in found for it in each.skipped]
    return rows


def _row(name: str, outcome: str, found: Found, detail: str) -> ImportedServer:
    return ImportedServer(name=name, outcome=outcome, client=found.client, detail=detail, source=str(found.file))


def hub_folder(board: Board, place: Place, here: Path) -> tuple[Path, Project | None]:
    """The folder whose hub is meant, and its project where it has one: the named one, or that of the nearest registered folder
    above; elsewhere the folder is known by what lies in it.

    Over HTTP, where nobody stands anywhere, it is the only project; `here`, where the process was started, counts only where
    there is none yet: the user has servers all the same.
    """
    from kumihimo.hub.places import project_folder

    if place.project is not None:
        return _of(board.projects.show(place.project))
    if place.folder is None:
        try:
            return _of(board.projects.at(place))
        except NoProject:
            return project_folder(here), None
    try:
        project = board.projects.at(place)
    except (ProjectUnclear, NoProject):
        return project_folder(Path(place.folder)), None
    if Path(place.folder).is_relative_to(project.working_directory):
        return _of(project)
    return project_folder(Path(place.folder)), None


def _of(project: Project) -> tuple[Path, Project]:
    return Path(project.working_directory), project


def _folder(call: Call) -> Path:
    return hub_folder(call.board, call.place, call.settings.folder)[0]


def _entry(arguments: AddServer) -> dict[str, Any]:
    if bool(arguments.command) == bool(arguments.url):
        raise InvalidValue(
            "command", "malformed", reason="a server has a command (-- COMMAND ARGS) or a url (--url URL)"
        )
    # What would be left out without a word is most likely meant for the other kind.
    if arguments.url and arguments.env:
        raise InvalidValue("env", "malformed", reason="a server with a url gets no variables: say --header")
    if arguments.command and (arguments.header or arguments.transport):
        name = "header" if arguments.header else "transport"
        raise InvalidValue(name, "malformed", reason="a server with a command has neither headers nor a transport")
    if arguments.url:
        websocket = arguments.url.startswith(("ws://", "wss://"))
        entry: dict[str, Any] = {
            "transport": arguments.transport or ("websocket" if websocket else "http"),
            "url": arguments.url,
            "headers": _pairs("header", arguments.header),
        }
    else:
        program, *words = arguments.command
        entry = {"transport": "stdio", "command": program, "args": words, "env": _pairs("env", arguments.env)}
    return {key: value for key, value in entry.items() if value not in ({}, [])}


def _pairs(name: str, given: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in given:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise InvalidValue(name, "malformed", reason=f"'{pair[:60]}' is not NAME=VALUE")
        pairs[key] = value
    return pairs


OPERATIONS = (add, remove, import_)
