"""The store: one connection, its repositories, and the two ways of using them.

A command is a function of a transaction that is done whole or not at all, and done again when it lost a race. A
command inside a command joins it. A store belongs to one thread at a time; another thread opens its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from kumihimo.domain.errors import ConfigError
from kumihimo.domain.event import Event
from kumihimo.store.agents import Agents
from kumihimo.store.connection import Connection
from kumihimo.store.contexts import Contexts
from kumihimo.store.events import Events
from kumihimo.store.evidence import Evidences
from kumihimo.store.executions import Executions
from kumihimo.store.groups import Groups
from kumihimo.store.handoffs import Handoffs
from kumihimo.store.health_checks import HealthChecks
from kumihimo.store.hosts import Hosts
from kumihimo.store.instances import Instances
from kumihimo.store.memories import Memories
from kumihimo.store.meta import Meta
from kumihimo.store.observations import Observations
from kumihimo.store.projects import Projects
from kumihimo.store.schema import VERSION, migrate
from kumihimo.store.sessions import Sessions
from kumihimo.store.tasks import Tasks
from kumihimo.store.tokens import Tokens

R = TypeVar("R")
_TRIES = 8


class Transaction:
    """The board inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.events = Events(connection)
        self.projects = Projects(connection, self.events)
        self.agents = Agents(connection, self.events)
        self.tasks = Tasks(connection, self.events)
        self.contexts = Contexts(connection, self.events)
        self.handoffs = Handoffs(connection, self.events)
        self.memories = Memories(connection, self.events)
        self.sessions = Sessions(connection, self.events)
        self.groups = Groups(connection, self.events)
        self.executions = Executions(connection, self.events)
        self.instances = Instances(connection, self.events)
        self.tokens = Tokens(connection)
        self.observations = Observations(connection)
        self.evidence = Evidences(connection, self.events)
        self.health_checks = HealthChecks(connection)
        self.hosts = Hosts(connection)
        self.meta = Meta(connection)


class Store:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        # Who is said to have done what is written: set by whoever knows the caller.
        self.actor = "system"
        self._transaction = Transaction(connection)
        self._open: str | None = None
        self._lingers = False
        self._held = False

    def write(self, command: Callable[[Transaction], R], *, ring: bool = True) -> R:
        """Run a command in a transaction of its own, or in the one that is under way. Without `ring` nobody is woken by it who
        waits for events, where the database does not wake them itself: they see it with the next one, or when they look."""
        if self._open == "write":
            return command(self._transaction)
        if self._open == "read":
            raise RuntimeError("a command inside a read: a snapshot can't be written to")
        self._let_go()
        tries = 0
        while True:
            tries += 1
            try:
                return self._write_once(command, ring)
            except Exception as error:
                if tries < _TRIES and self.connection.retry(error):
                    continue
                translated = self.connection.translate(error)
                if translated is error:
                    raise
                raise translated from error

    def write_lightly(self, command: Callable[[Transaction, str], R]) -> R:
        """A command without events whose loss, in a crash of the database, would lose nothing. Where many share a database it
        is one statement: no transaction is begun for it, and the disk is not waited for. It is told what to put behind what
        that statement returns, by which that is said."""
        light = self.connection.dialect.light
        if self._open or light is None:
            return self.write(lambda transaction: command(transaction, ""))
        self._let_go()
        self.connection.ready()
        try:
            return command(self._transaction, light)
        except Exception as error:
            raise self.connection.translate(error) from error

    def read(self, query: Callable[[Transaction], R]) -> R:
        """Run a query on one snapshot of the board, or in the transaction that is under way."""
        if self._open:
            return query(self._transaction)
        self._let_go()
        try:
            return self._read_once(query)
        except Exception as error:
            translated = self.connection.translate(error)
            if translated is error:
                raise
            raise translated from error

    @property
    def writing(self) -> bool:
        """Whether a command is under way, not only a look."""
        return self._open == "write"

    def for_looking(self) -> Transaction:
        """The board for a question that is one statement, or whose statements need not agree: no snapshot is made for it."""
        if not self._open:
            if self._lingers:
                self._hold()
            else:
                self.connection.ready()
        return self._transaction

    def translated(self, error: Exception) -> Exception:
        """An error of the database as one of ours, where it has a meaning for users."""
        return self.connection.translate(error)

    @contextmanager
    def lingering(self) -> Generator[None, None, None]:
        """Look-ups in here share one snapshot, until a command is done among them.

        For look-ups that were asked for at once: to lock the file takes longer than to read from it.
        """
        self._lingers = True
        try:
            yield
        finally:
            self._lingers = False
            self._let_go()

    def look(self, look_up: Callable[[], R]) -> R:
        """Look-ups that need not agree, one after the other: on one snapshot where that takes less time, as in a file."""
        if self.connection.dialect.row_locks:
            return look_up()
        with self.lingering():
            return look_up()

    def events_after(self, cursor: str | None, limit: int = 500) -> list[Event]:
        """The feed: settled events behind the cursor, each once, no effect before its cause."""
        try:
            return self.for_looking().events.after(cursor, limit)
        except Exception as error:
            raise self.translated(error) from error

    def newest_cursor(self) -> str:
        """Behind everything settled. Taken before a snapshot is read, nothing between the two is missed."""
        try:
            return self.for_looking().events.newest()
        except Exception as error:
            raise self.translated(error) from error

    def tidy(self) -> None:
        """While nothing else is going on: what would else be done by a command on its way."""
        try:
            self.connection.tidy()
        except Exception as error:
            raise self.translated(error) from error

    def close(self) -> None:
        self.connection.close()

    def _hold(self) -> None:
        if not self._held:
            self.connection.begin_read()
            self._held = True

    def _let_go(self) -> None:
        if self._held:
            self._held = False
            self.connection.rollback()

    def _write_once(self, command: Callable[[Transaction], R], ring: bool) -> R:
        events = self._transaction.events
        connection = self.connection
        connection.begin_write()
        self._open = "write"
        events.begin(self.actor)
        try:
            answer = command(self._transaction)
            events.write()
            if events.appended:
                connection.notify(events.told, events.last, work=events.work)
            connection.commit()
        except BaseException:
            connection.rollback()
            raise
        finally:
            self._open = None
        if events.appended and ring:
            connection.ring()
        return answer

    def _read_once(self, query: Callable[[Transaction], R]) -> R:
        connection = self.connection
        connection.begin_read()
        self._open = "read"
        try:
            return query(self._transaction)
        finally:
            self._open = None
            connection.rollback()


def open_store(database: str | Path) -> Store:
    """Open, and bring up to date, the board at a path or a `postgresql://` URL."""
    connection = connect(database)
    try:
        # An up-to-date file is left in peace: no write lock on the way in.
        if connection.dialect.row_locks or connection.schema_version() != VERSION:
            migrate(connection)
    except BaseException as error:
        connection.close()
        if isinstance(error, Exception):
            raise connection.translate(error) from error
        raise
    return Store(connection)


def connect(database: str | Path) -> Connection:
    """The connection alone, whatever the state of what it leads to."""
    if isinstance(database, str) and database.startswith(("postgresql://", "postgres://")):
        try:
            from kumihimo.store.postgres import PostgresConnection
        except ImportError:
            raise ConfigError("--db", "no_driver") from None
        return PostgresConnection(database)
    scheme, url, _ = str(database).partition("://")
    if isinstance(database, str) and url:
        # Taken for a path it would make a folder of that name.
        raise ConfigError("--db", "not_a_database", value=f"{scheme}{url}")
    from kumihimo.store.sqlite import SqliteConnection

    return SqliteConnection(Path(database))
