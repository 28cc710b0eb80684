"""Agents, and the hashes of their passkeys, which are in no value."""

from __future__ import annotations

from kumihimo.domain.agent import Agent, Scope
from kumihimo.store.filters import Where
from kumihimo.store.mapping import TableMapping
from kumihimo.store.repository import Repository


class Agents(Repository[Agent]):
    mapping = TableMapping(
        "agents",
        Agent,
        times=("created_at", "updated_at"),
        json={"capabilities": tuple[str, ...], "dod": tuple[str, ...], "scope": Scope},
    )

    def named(self, name: str) -> Agent | None:
        return self.one("name = ?", name)

    def all(self, *, project_id: str | None = None, after: str | None = None, limit: int = 1_000) -> list[Agent]:
        """By name; only those of one project where one is given."""
        where = Where()
        if project_id is not None:
            where.condition("id IN (SELECT agent_id FROM project_agents WHERE project_id = ?)", project_id)
        if after is not None:
            where.condition("name > ?", after)
        return self.many(f"{where.text} ORDER BY name LIMIT ?", (*where.values, limit))

    def by_ids(self, identifiers: set[str]) -> dict[str, Agent]:
        if not identifiers:
            return {}
        where = Where().among("id", identifiers)
        return {agent.id: agent for agent in self.many(where.text, where.values)}

    def names(self) -> list[str]:
        return [row[0] for row in self._connection.execute("SELECT name FROM agents ORDER BY name LIMIT 1000")]

    def passkey_hash(self, agent_id: str) -> str | None:
        rows = self._connection.execute("SELECT hash FROM passkeys WHERE agent_id = ?", (agent_id,))
        return rows[0][0] if rows else None

    def set_passkey_hash(self, agent_id: str, passkey_hash: str) -> None:
        self._connection.execute(
            "INSERT INTO passkeys (agent_id, hash) VALUES (?, ?) "
            "ON CONFLICT (agent_id) DO UPDATE SET hash = excluded.hash",
            (agent_id, passkey_hash),
        )
