"""What the rest of the store needs of a database, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from kumihimo.store.mapping import Row


class Dialect(Protocol):
    """The few words in which the databases differ."""

    name: str
    # Words of the migrations: `@word@` is replaced by its text.
    words: dict[str, str]
    # SQLite locks the whole file when a command begins, so rows need no lock of their own there.
    row_locks: bool
    # How a command writes its events, around `{insert}` and `{rows}`: so that no reader passes them until it commits, and, where
    # a lost commit is looked up, with what is needed for that told of each.
    appended: str
    skip_locked: str
    # Behind what a statement returns: its loss would lose nothing, so nobody waits for the disk. None where nobody does anyhow.
    light: str | None


class Connection(Protocol):
    """One connection, used by one thread at a time. SQL has `?` for values on every database."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def place(self) -> str:
        """The database, named so that it can be shown: no password in it."""
        ...

    def now(self) -> datetime:
        """The time by which leases count: where several machines share a database, that of the database."""
        ...

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...

    def begin_write(self) -> None: ...

    def begin_read(self) -> None: ...

    def ready(self) -> None:
        """Before statements outside a transaction: connected again, if the connection was lost."""
        ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def retry(self, error: Exception) -> bool:
        """Whether the whole command may simply be done again: it lost a race and nothing of it was written."""
        ...

    def translate(self, error: Exception) -> Exception:
        """A database's own error as one of ours where it has a meaning for users, else itself."""
        ...

    def horizon(self) -> int:
        """The newest event such that it and everything before it is settled."""
        ...

    def notify(self, told: Row, last: Row, *, work: bool) -> None:
        """Before the commit of a command with events, where waking others is part of the command. `told` is what the database
        said of the last one (`appended`), `last` its cells. `work`: hosts may have something to do because of it."""
        ...

    def ring(self) -> None:
        """After that commit, where it is not."""
        ...

    def schema_version(self) -> int: ...

    def schema_oldest(self) -> int:
        """The oldest version that works with the schema as it is: its own number where nothing else was said."""
        ...

    def set_schema_version(self, version: int, oldest: int | None = None) -> None: ...

    def make_way(self) -> None:
        """Inside a migration: rather give up, and try again, than let everybody wait behind us for somebody who takes long."""
        ...

    def check(self) -> list[str]:
        """What is wrong with the database itself; empty where nothing is."""
        ...

    def columns(self, table: str) -> list[str]: ...

    def tidy(self) -> None:
        """Do, while nothing else is going on, what a later command would else have to do on its way."""
        ...

    def continue_numbers(self) -> None:
        """After rows were written with their numbers: go on behind the greatest."""
        ...

    def close(self) -> None: ...
