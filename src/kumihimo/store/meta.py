"""A few words about the board itself that every door must agree on."""

from __future__ import annotations

from kumihimo.store.connection import Connection


class Meta:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, key: str) -> str | None:
        rows = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def keep_first(self, key: str, value: str) -> str:
        """The value that was there first, whoever races."""
        self._connection.execute("INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, value))
        found = self.get(key)
        assert found is not None, "written just now or before"
        return found

    def lock(self, key: str) -> None:
        """Until we commit, nobody else who locks the same word comes past here. One writer at a time needs no more."""
        if self._connection.dialect.row_locks:
            self.keep_first(key, "")
            self._connection.execute("SELECT 1 FROM meta WHERE key = ? FOR UPDATE", (key,))
