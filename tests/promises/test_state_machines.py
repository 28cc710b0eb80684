"""Task, Execution and Session: whatever is done to them in whatever order, store, log and model agree."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from kumihimo.testing.boards import BoardKit

from .machines import ExecutionMachine, Machine, SessionMachine, TaskMachine
from .replay import require_same_board

# A command on PostgreSQL waits for the disk, so there are fewer of them; the interleavings that differ are in the races.
EXAMPLES = {"sqlite": (150, 50), "postgres": (20, 30)}


@pytest.mark.slow
@pytest.mark.parametrize("machine", [TaskMachine, ExecutionMachine, SessionMachine])
def test_store_and_log_agree_with_the_model_after_every_step(kit: BoardKit, machine: type[Machine]) -> None:
    examples, steps = EXAMPLES[kit.board.store.connection.dialect.name]
    run_state_machine_as_test(
        lambda: machine(kit),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
    require_same_board(kit.board.store)
    assert kit.board.store.connection.check() == []
