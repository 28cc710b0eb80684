"""Tokens, known by their hash alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kumihimo.domain.token import Token
from kumihimo.store.connection import Connection
from kumihimo.store.mapping import microseconds, moment


class Tokens:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add_all(self, tokens: Sequence[tuple[str, Token]], at: datetime) -> None:
        """Each with its hash."""
        made = microseconds(at)
        cells: list[str | int | None] = []
        for token_hash, it in tokens:
            cells += (token_hash, it.kind, it.agent_id, it.project_id, it.execution_id, it.instance_id, made)
        if cells:
            rows = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(tokens))
            self._connection.execute(
                "INSERT INTO tokens (hash, kind, agent_id, project_id, execution_id, instance_id, created_at) "
                f"VALUES {rows}",
                cells,
            )

    def with_hash(self, token_hash: str) -> tuple[Token, str] | None:
        """What a token stands for and the stored hash, for a comparison in constant time; revoked ones are gone."""
        rows = self._connection.execute(
            "SELECT kind, agent_id, project_id, execution_id, instance_id, created_at, hash FROM tokens "
            "WHERE hash = ? AND revoked_at IS NULL",
            (token_hash,),
        )
        if not rows:
            return None
        kind, agent_id, project_id, execution_id, instance_id, created_at, stored = rows[0]
        return Token(kind, agent_id, project_id, execution_id, instance_id, moment(created_at)), stored

    def revoke_of_instance(self, instance_id: str, at: datetime) -> None:
        self._connection.execute(
            "UPDATE tokens SET revoked_at = ? WHERE instance_id = ? AND revoked_at IS NULL",
            (microseconds(at), instance_id),
        )
