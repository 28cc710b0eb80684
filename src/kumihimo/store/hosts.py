"""Hosts and their leases. Not part of the log: a lease is news for half a minute."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kumihimo.domain.host import Awaited, Host
from kumihimo.store.connection import Connection
from kumihimo.store.mapping import TableMapping, microseconds

_WORDS = tuple[str, ...]
_mapping = TableMapping(
    "hosts",
    Host,
    times=("lease_until",),
    flags=("draining",),
    json={"labels": _WORDS, "clients": _WORDS, "projects": _WORDS},
)
_SET = ", ".join(f"{column} = excluded.{column}" for column in _mapping.stored if column != "id")
_RENEW = f"INSERT INTO hosts ({_mapping.columns}) VALUES ({_mapping.marks}) ON CONFLICT (id) DO UPDATE SET {_SET}"


class Hosts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def renew(self, host: Host) -> None:
        self._connection.execute(_RENEW, _mapping.row(host))

    def extend(
        self, identifier: str, lease_until: datetime, awaited: tuple[str, list[Any]], light: str
    ) -> Awaited | None:
        """Only how long it is known to live; with the answer to what it would ask next. None where nothing is known of it."""
        questions, values = awaited
        sql = f"UPDATE hosts SET lease_until = ? WHERE id = ? RETURNING {questions}{light}"
        rows = self._connection.execute(sql, (microseconds(lease_until), identifier, *values))
        return Awaited(*map(bool, rows[0][:3])) if rows else None

    def get(self, identifier: str) -> Host | None:
        rows = self._connection.execute(_mapping.by_id, (identifier,))
        return _mapping.value(rows[0]) if rows else None

    def with_token(self, token_hash: str) -> Host | None:
        """The one whose owner's token this is."""
        sql = f"SELECT {_mapping.selected} FROM hosts WHERE token_hash = ? ORDER BY lease_until DESC LIMIT 1"
        rows = self._connection.execute(sql, (token_hash,))
        return _mapping.value(rows[0]) if rows else None

    def all(self) -> list[Host]:
        rows = self._connection.execute(f"SELECT {_mapping.selected} FROM hosts ORDER BY name, id")
        return [_mapping.value(row) for row in rows]

    def alive(self, now: datetime) -> tuple[int, int]:
        """How many take work now, and how many slots they have: told without reading all that each has said."""
        rows = self._connection.execute(
            "SELECT count(*), coalesce(sum(slots), 0) FROM hosts WHERE lease_until > ? AND draining = 0",
            (microseconds(now),),
        )
        return rows[0][0], int(rows[0][1])

    def running(self) -> dict[str, int]:
        """How many runs each host has under way."""
        rows = self._connection.execute(
            "SELECT owner, count(*) FROM executions WHERE owner IS NOT NULL AND status IN ('starting', 'running') GROUP BY owner"
        )
        return {row[0]: row[1] for row in rows}
