"""Upkeep of the board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from kumihimo.domain.errors import StoreError, StoreNotEmpty, StoreTooNew, StoreUnreachable
from kumihimo.domain.finding import Finding
from kumihimo.operations.operation import Arguments, Call, Nothing, operation
from kumihimo.services import upkeep as service
from kumihimo.services.upkeep import Condition, Copied, Migration, Overview

BackupFile = Annotated[str, Meta(description="A SQLite file.")]


class Diagnose(Arguments, frozen=True):
    fix: Annotated[bool, Meta(description="Mend what is safe to mend, and say what was done.")] = False


class Backup(Arguments, frozen=True):
    file: BackupFile


class Move(Arguments, frozen=True):
    target: Annotated[str, Meta(description="An empty database: a path or a postgresql:// URL.")]


def _path(call: Call, given: str) -> Path:
    return call.settings.folder / Path(given).expanduser()


@operation("board.status", Nothing, Overview, StoreError, reads=True)
def status(call: Call, _: Nothing) -> Overview:
    """What is going on, at a glance."""
    return service.overview(call.board, call.settings)


@operation("board.doctor", Diagnose, list[Finding], idempotent=True, slow=True)
def doctor(call: Call, arguments: Diagnose) -> list[Finding]:
    """Look whether everything is in order. A missing agent CLI is a warning: Kumihimo works without it."""
    # It looks at nearly everything: loaded when somebody asks.
    from kumihimo.hub.diagnosis import look_at_hub
    from kumihimo.services.diagnosis.diagnosis import by_weight, diagnose

    found = diagnose(call.settings, lambda: call.board, fix=arguments.fix)
    return by_weight([*found, *look_at_hub(call.settings)])


@operation("board.migrate", Nothing, Migration, StoreTooNew, StoreUnreachable, idempotent=True)
def migrate(call: Call, _: Nothing) -> Migration:
    """Bring the database up to date. Every start does so by itself; this says what was done."""
    return service.bring_up_to_date(call.settings)


@operation("board.check", Nothing, Condition, StoreError, reads=True)
def check(call: Call, _: Nothing) -> Condition:
    """Look whether the database is whole."""
    return service.examine(call.settings)


@operation("board.backup", Backup, Copied, StoreNotEmpty)
def backup(call: Call, arguments: Backup) -> Copied:
    """Write the whole board into a new SQLite file, while others go on working."""
    return service.backup(call.settings, _path(call, arguments.file))


@operation("board.restore", Backup, Copied, StoreNotEmpty, StoreUnreachable)
def restore(call: Call, arguments: Backup) -> Copied:
    """Read a backup into an empty database."""
    return service.restore(call.settings, _path(call, arguments.file))


@operation("board.move", Move, Copied, StoreNotEmpty, StoreUnreachable)
def move(call: Call, arguments: Move) -> Copied:
    """Copy the whole board into another, empty database. The old one stays as it is: point --db at the new one."""
    target = arguments.target
    return service.move(call.settings, target if "://" in target else str(_path(call, target)))


OPERATIONS = (status, doctor, migrate, check, backup, restore, move)
