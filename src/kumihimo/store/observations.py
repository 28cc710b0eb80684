"""Observations: one row for each run, written over as its stream goes on. Not part of the log: the capture is."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import msgspec

from kumihimo.domain.observation import Observation
from kumihimo.store.connection import Connection
from kumihimo.store.mapping import microseconds

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Observation).decode


_MARKS = "(?, ?, ?, ?, ?)"
_SAVE = (
    "INSERT INTO observations (execution_id, position, tool_calls, seen, at) VALUES {rows} "
    "ON CONFLICT (execution_id) DO UPDATE SET position = excluded.position, tool_calls = excluded.tool_calls, "
    "seen = excluded.seen, at = excluded.at"
)
_SAVE_ONE = _SAVE.format(rows=_MARKS)


class Observations:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of(self, execution_id: str) -> Observation | None:
        rows = self._connection.execute("SELECT seen FROM observations WHERE execution_id = ?", (execution_id,))
        return _decode(rows[0][0]) if rows else None

    def of_many(self, execution_ids: Collection[str]) -> dict[str, Observation]:
        if not execution_ids:
            return {}
        marks = ", ".join("?" for _ in execution_ids)
        rows = self._connection.execute(
            f"SELECT execution_id, seen FROM observations WHERE execution_id IN ({marks})", list(execution_ids)
        )
        return {row[0]: _decode(row[1]) for row in rows}

    def positions_of_running(self) -> dict[str, int]:
        """How far the stream of each run that a host has under way was read."""
        rows = self._connection.execute(
            "SELECT observations.execution_id, observations.position FROM executions JOIN observations "
            "ON observations.execution_id = executions.id WHERE executions.owner IS NOT NULL"
        )
        return {row[0]: row[1] for row in rows}

    def save_all(self, observations: Collection[Observation], at: datetime, light: str) -> None:
        """In one statement where it is asked of a server (`light`); else one by one, for each number of rows would be another
        statement to be prepared."""
        # The newest of each: one statement can't write a row twice.
        rows = [_row(it, microseconds(at)) for it in {it.execution_id: it for it in observations}.values()]
        if light and rows:
            sql = _SAVE.format(rows=", ".join([_MARKS] * len(rows))) + f" RETURNING execution_id{light}"
            self._connection.execute(sql, [value for row in rows for value in row])
        elif not light:
            for row in rows:
                self._connection.execute(_SAVE_ONE, row)


def _row(observation: Observation, at: int) -> tuple[str | int, ...]:
    it = observation
    return (it.execution_id, it.position, it.tool_calls, _encode(it).decode(), at)
