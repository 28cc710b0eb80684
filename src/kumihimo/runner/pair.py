"""A pair: an agent on a project. Everything that a Runner does is about one."""

from __future__ import annotations

from msgspec import Struct


class Pair(Struct, frozen=True):
    agent_id: str
    project_id: str

    def __str__(self) -> str:
        return f"{self.agent_id} on {self.project_id}"
