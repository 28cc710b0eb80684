"""Sights: runs as somebody sees them, with what their streams have shown and who plays in them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from kumihimo.domain.evidence import Evidence
from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Observation
from kumihimo.store.store import Transaction


class Sight(msgspec.Struct, frozen=True):
    """A run with what its stream has shown, and the name of the agent that plays in it."""

    execution: Execution
    seen: Observation
    role: str
    at: datetime
    evidence: Evidence | None = None
    """Only where one run is looked at by itself."""


def sights(transaction: Transaction, runs: list[Execution], now: datetime) -> list[Sight]:
    """Runs with what their streams have shown by now."""
    return seen_as(transaction, runs, transaction.observations.of_many([run.id for run in runs]), now)


def seen_as(
    transaction: Transaction, runs: list[Execution], seen: dict[str, Observation], now: datetime
) -> list[Sight]:
    names = {
        agent_id: agent.name for agent_id, agent in transaction.agents.by_ids({run.agent_id for run in runs}).items()
    }
    return [
        Sight(run, seen.get(run.id) or Observation(run.id), names.get(run.agent_id, run.agent_id), now) for run in runs
    ]
