"""What was last found out about the programs behind agents, and which clients must wait for their limits to end."""

from __future__ import annotations

from datetime import datetime

from kumihimo.domain.health import Health
from kumihimo.store.connection import Connection
from kumihimo.store.mapping import Row, microseconds, moment

_COLUMNS = (
    "agent_id, status, reason, response_time_ms, checked_at, "
    "model_status, model_message, model_checked_at, program, version"
)


class HealthChecks:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def of(self, agent_id: str) -> Health:
        """As last found; one that was never looked at is taken to be well."""
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM health_checks WHERE agent_id = ?", (agent_id,))
        return _health(rows[0]) if rows else Health(agent_id)

    def all(self) -> dict[str, Health]:
        rows = self._connection.execute(f"SELECT {_COLUMNS} FROM health_checks")
        return {row[0]: _health(row) for row in rows}

    def missing(self) -> list[str]:
        """The names of the agents whose program was not there when it was last looked for."""
        rows = self._connection.execute(
            "SELECT agents.name FROM health_checks JOIN agents ON agents.id = health_checks.agent_id "
            "WHERE health_checks.status = 'failed' AND health_checks.program IS NULL"
        )
        return [row[0] for row in rows]

    def save(self, health: Health) -> None:
        self._connection.execute(
            f"INSERT INTO health_checks ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (agent_id) DO UPDATE SET status = excluded.status, reason = excluded.reason, "
            "response_time_ms = excluded.response_time_ms, checked_at = excluded.checked_at, "
            "model_status = excluded.model_status, model_message = excluded.model_message, "
            "model_checked_at = excluded.model_checked_at, program = excluded.program, version = excluded.version",
            (
                health.agent_id,
                health.status,
                health.reason,
                health.response_time_ms,
                _cell(health.checked_at),
                health.model_status,
                health.model_message,
                _cell(health.model_checked_at),
                health.program,
                health.version,
            ),
        )

    def park(self, client: str, until: datetime, reason: str) -> None:
        """Nothing of this client is started before then; the later of two ends counts."""
        self._connection.execute(
            "INSERT INTO parked_clients (client, until, reason) VALUES (?, ?, ?) "
            "ON CONFLICT (client) DO UPDATE SET until = excluded.until, reason = excluded.reason "
            "WHERE excluded.until > parked_clients.until",
            (client, microseconds(until), reason),
        )

    def parked(self, now: datetime) -> dict[str, datetime]:
        """Clients that wait, and until when."""
        rows = self._connection.execute(
            "SELECT client, until FROM parked_clients WHERE until > ? ORDER BY until", (microseconds(now),)
        )
        return {row[0]: moment(row[1]) for row in rows}


def _cell(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)


def _health(row: Row) -> Health:
    agent_id, status, reason, response, checked, model_status, message, model_checked, program, version = row
    return Health(
        agent_id,
        status,
        reason,
        response,
        None if checked is None else moment(checked),
        model_status,
        message,
        None if model_checked is None else moment(model_checked),
        program,
        version,
    )
