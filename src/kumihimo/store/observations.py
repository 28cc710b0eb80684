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

    def save(self, observation: Observation, at: datetime) -> None:
        self._connection.execute(
            "INSERT INTO observations (execution_id, position, tool_calls, seen, at) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (execution_id) DO UPDATE SET position = excluded.position, tool_calls = excluded.tool_calls, "
            "seen = excluded.seen, at = excluded.at",
            (
                observation.execution_id,
                observation.position,
                observation.tool_calls,
                _encode(observation).decode(),
                microseconds(at),
            ),
        )
