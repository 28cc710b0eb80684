"""Sessions. A token is known only by its hash, which is in no value and no event."""

from __future__ import annotations

from kumihimo.domain.event import Change
from kumihimo.domain.session import Process, Session
from kumihimo.store.mapping import TableMapping
from kumihimo.store.repository import Repository


class Sessions(Repository[Session]):
    mapping = TableMapping(
        "sessions",
        Session,
        times=("started_at", "expires_at", "ended_at"),
        json={"process": Process},
    )

    def open(self, change: Change[Session], token_hash: str) -> bool:
        """False where the pair has a live session: the unique index decides, whoever races."""
        mapping = self.mapping
        added = self._connection.execute(
            f"INSERT INTO sessions ({mapping.columns}, token_hash) VALUES ({mapping.marks}, ?) "
            "ON CONFLICT DO NOTHING RETURNING 1",
            (*mapping.row(change.value), token_hash),
        )
        if added:
            self._events.append(change)
        return bool(added)

    def live(self, agent_id: str, project_id: str) -> Session | None:
        return self.one("agent_id = ? AND project_id = ? AND status = 'live'", agent_id, project_id)

    def all_live(self, limit: int = 10_000) -> list[Session]:
        return self.many("WHERE status = 'live' ORDER BY started_at LIMIT ?", (limit,))

    def with_token(self, token_hash: str) -> tuple[Session, str] | None:
        """The session of a token and the stored hash, for a comparison in constant time."""
        rows = self._connection.execute(
            f"SELECT {self.mapping.selected}, token_hash FROM sessions WHERE token_hash = ?", (token_hash,)
        )
        if not rows:
            return None
        *cells, stored = rows[0]
        return self.mapping.value(cells), stored
