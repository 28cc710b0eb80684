"""What became of a commit whose answer never came: looked up on the server, never guessed.

The number of the transaction would not do: after a crash the server gives the number of one that it had not yet written
down to another one. So we look for what the command itself wrote, its last event: number, kind, subject, actor, time and
value. The number may be given out twice as well, but no two commands write the same value of the same thing in the same
microsecond under the same number.

Not to find it says nothing while the old transaction may still commit: its COMMIT may lie in a buffer on the way. Before
its first event every command takes an advisory lock (see `appended`), which the server gives back after the commit can be
seen by everybody. Who holds that lock alone therefore knows that the old transaction is over, one way or the other; and
what it wrote, if it did, is seen by the next statement. A server that was started anew, or another one that has taken over,
knows no such lock, and the old transaction is over there too. Only a standby says nothing: its locks are its own.
An old transaction that only waits for our next word, which will never come, is ended, so that nobody waits for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg

from kumihimo.domain.errors import StoreOutcomeUnknown, StoreUnreachable
from kumihimo.store.mapping import Row

_PATIENCE_SECONDS = 30.0
_LOCK_SECONDS = 5
_PAUSE_SECONDS = 0.1
_END_IDLE = (
    "SELECT pg_terminate_backend(activity.pid) FROM pg_stat_activity AS activity JOIN pg_locks USING (pid) "
    "WHERE activity.pid = %s AND state LIKE 'idle in transaction%%' AND locktype = 'advisory' AND objsubid = 1 "
    "AND ((classid::bigint << 32) | objid::bigint) = %s"
)
_LOOK = (
    "SELECT 1 FROM events WHERE (seq, kind, subject, actor, at, data) = (%s, %s, %s, %s, %s, %s) "
    "AND project_id IS NOT DISTINCT FROM %s"
)


class Mark(NamedTuple):
    """By what a command is found again: the lock that it holds, which process of the server carries it out, and its last event
    as `Events` has it."""

    lock: int
    backend: int
    event: tuple[Any, ...]


class _NotToBeSeen(Exception):
    """This server can't tell."""


def find_out(
    mark: Mark, meet: Callable[[], psycopg.Connection[Row]], place: str
) -> tuple[psycopg.Connection[Row], bool]:
    """A new connection, and whether the command was done. StoreOutcomeUnknown where that can't be found out in time."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        connection: psycopg.Connection[Row] | None = None
        try:
            connection = meet()
            return connection, _was_done(connection, mark)
        except (psycopg.Error, StoreUnreachable, _NotToBeSeen) as error:
            if connection is not None:
                connection.close()
            if time.monotonic() > deadline:
                raise StoreOutcomeUnknown(place, reason=_why(error)) from error
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        time.sleep(_PAUSE_SECONDS)


def _was_done(connection: psycopg.Connection[Row], mark: Mark) -> bool:
    connection.execute("BEGIN")
    if connection.execute("SELECT pg_is_in_recovery()").fetchone() != (False,):
        raise _NotToBeSeen("the server that answers is a standby")
    connection.execute(_END_IDLE, (mark.backend, mark.lock))
    connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'".encode())
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (mark.lock,))
    seq, kind, subject, project, actor, at, data = mark.event
    done = connection.execute(_LOOK, (seq, kind, subject, actor, at, data, project)).fetchone() is not None
    connection.execute("ROLLBACK")
    return done


def _why(error: Exception) -> str:
    return str(error.facts["reason"]) if isinstance(error, StoreUnreachable) else str(error).strip().partition("\n")[0]
