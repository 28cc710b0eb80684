"""Upkeep: is everything in order, what is going on, and copies of the board."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from kumihimo import __version__
from kumihimo.domain.errors import KumihimoError, StoreNotEmpty, StoreUnreachable
from kumihimo.services.board import Board
from kumihimo.services.hosting import find_running
from kumihimo.settings import Settings
from kumihimo.store.copying import copy_board
from kumihimo.store.mapping import microseconds
from kumihimo.store.schema import VERSION, migrate
from kumihimo.store.store import connect, open_store

Verdict = Literal["ok", "warning", "error"]
_PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "opencode": "opencode",
             "copilot": "copilot", "qwen-code": "qwen", "cursor": "cursor-agent"}  # fmt: skip


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at. `detail` of anything but ok says what to do."""

    name: str
    verdict: Verdict
    detail: str


class Migration(msgspec.Struct, frozen=True):
    database: str
    version: int
    applied: list[int]


class Condition(msgspec.Struct, frozen=True):
    database: str
    problems: list[str]


class Copied(msgspec.Struct, frozen=True):
    source: str
    target: str
    rows: int


class Overview(msgspec.Struct, frozen=True):
    """What is going on, at a glance. `pid` and `url` are of the host process where one runs."""

    version: str
    database: str
    projects: int
    agents: int
    tasks: dict[str, int]
    live_sessions: int
    live_runs: int
    token_file: str
    runs: dict[str, int] = {}
    """How many are queued, start, run, or are planned."""
    slots: int = 0
    parked: dict[str, datetime] = {}
    """Clients that wait for a limit to end, and until when."""
    pid: int | None = None
    url: str | None = None


def bring_up_to_date(settings: Settings) -> Migration:
    connection = connect(settings.database)
    try:
        return Migration(connection.place, VERSION, migrate(connection))
    finally:
        connection.close()


def examine(settings: Settings) -> Condition:
    """Whether the database itself is whole."""
    store = open_store(settings.database)
    try:
        return Condition(store.connection.place, store.connection.check())
    finally:
        store.close()


def backup(settings: Settings, file: Path) -> Copied:
    """The board as a SQLite file that did not exist before."""
    if file.exists() and file.stat().st_size:
        raise StoreNotEmpty(str(file))
    return _copy(settings.database, str(file))


def restore(settings: Settings, file: Path) -> Copied:
    """A backup into the board of the settings, which must be empty."""
    if not file.is_file():
        raise StoreUnreachable(str(file), reason="no such file")
    return _copy(str(file), settings.database)


def move(settings: Settings, target: str) -> Copied:
    """The board into another, empty database. The old one stays as it is."""
    return _copy(settings.database, target)


def fold(board: Board, retention_days: float) -> int:
    """Remove overtaken events that are older than that."""
    before = microseconds(board.clock() - timedelta(days=retention_days))
    gone, start = 0, 0
    while True:
        some, end = board.store.write(lambda transaction, start=start: transaction.events.fold(before, start))
        gone += some
        if end is None:
            return gone
        start = end


def overview(board: Board, settings: Settings) -> Overview:
    def look(transaction: object) -> Overview:  # noqa: ARG001 - one snapshot for all of it
        running = find_running(settings.state_folder)
        projects = board.projects.list()
        tasks: dict[str, int] = {}
        for project in projects:
            for status, count in board.tasks.counts(project.id).items():
                tasks[status] = tasks.get(status, 0) + count
        return Overview(
            version=__version__,
            database=board.store.connection.place,
            projects=len(projects),
            agents=len(board.agents.list().items),
            tasks=tasks,
            live_sessions=board.sessions.count_live(),
            live_runs=board.executions.count_live(),
            token_file=str(settings.token_file),
            runs=board.executions.counts(),
            slots=sum(host.slots for host in board.hosts.alive()) or settings.max_concurrent,
            parked=board.hosts.parked(),
            pid=running.process.pid if running else None,
            url=running.url if running else None,
        )

    return board.store.read(look)


def diagnose(settings: Settings, *, fix: bool) -> list[Finding]:
    """Everything that Kumihimo needs, and what agents need. Only an `error` keeps Kumihimo itself from working."""
    findings = [Finding("python", "ok", sys.version.split()[0])]
    findings.append(_look_at_folder(settings.data_folder, fix=fix))
    findings.append(_look_at_database(settings, fix=fix))
    findings.append(_look_for("git", "git", "needed for worktrees: install git"))
    for client, program in _PROGRAMS.items():
        findings.append(_look_for(client, program, f"agents of this client can't run until `{program}` is on PATH"))
    return findings


def _look_at_folder(folder: Path, *, fix: bool) -> Finding:
    if fix:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not folder.exists():
        return Finding("folder", "ok", f"{folder} (made when it is first needed)")
    if not os.access(folder, os.W_OK):
        return Finding("folder", "error", f"{folder} can't be written: change its owner or set KUMI_HOME")
    loose = folder.stat().st_mode & 0o077
    if loose and fix:
        folder.chmod(0o700)
        loose = 0
    if loose:
        return Finding("folder", "warning", f"{folder} can be read by others: `kumi doctor --fix`")
    return Finding("folder", "ok", str(folder))


def _look_at_database(settings: Settings, *, fix: bool) -> Finding:
    try:
        if fix:
            bring_up_to_date(settings)
        condition = examine(settings)
    except KumihimoError as error:
        return Finding("database", "error", str(error))
    if condition.problems:
        return Finding("database", "error", f"{condition.database}: {condition.problems[0]}. Restore a backup.")
    return Finding("database", "ok", condition.database)


def _look_for(name: str, program: str, otherwise: str) -> Finding:
    found = shutil.which(program)
    return Finding(name, "ok", found) if found else Finding(name, "warning", otherwise)


def _copy(source: str, target: str) -> Copied:
    giving = open_store(source)
    try:
        taking = open_store(target)
        try:
            counts = copy_board(giving, taking)
            return Copied(giving.connection.place, taking.connection.place, sum(counts.values()))
        finally:
            taking.close()
    finally:
        giving.close()
