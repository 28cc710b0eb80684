"""A request that is refused starts nothing and writes nothing, whichever part of it is at fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.health import Health
from kumihimo.services.groups import LONGEST_MS, Errand, Limits
from kumihimo.testing.boards import BoardKit

LIMITS = Limits(3)
GOOD = Errand("coder", "go", "/srv/shop")
Stages = Sequence[Sequence[Errand]]


def bad(role: str = "coder", prompt: str = "go", timeout_ms: int | None = None) -> Errand:
    return Errand(role, prompt, "/srv/shop", timeout_ms)


# What is asked for, and why not. A bad one stands behind a good one.
RUNS: dict[str, tuple[list[Errand], str]] = {
    "nothing": ([], "EmptyAgents"),
    "a role that is not there": ([GOOD, bad("codre")], "RoleNotFound"),
    "a role that was archived": ([GOOD, bad("writer")], "RoleNotFound"),
    "a person": ([GOOD, bad("ann")], "RoleNotFound"),
    "a role whose program is broken": ([GOOD, bad("reviewer")], "RoleUnavailable"),
    "no time at all": ([GOOD, bad(timeout_ms=0)], "InvalidValue"),
    "less than no time": ([GOOD, bad(timeout_ms=-1)], "InvalidValue"),
    "more time than there is": ([GOOD, bad(timeout_ms=LONGEST_MS + 1)], "InvalidValue"),
    "a NUL in the prompt": ([GOOD, bad(prompt="a\0b")], "InvalidValue"),
    "more than there are slots": ([GOOD] * 4, "MaxConcurrentReached"),
}
PLANS: dict[str, tuple[Stages, str]] = {
    "nothing": ([], "EmptyStages"),
    "a stage with nothing": ([[GOOD], []], "EmptyStageTasks"),
    "a stage that is too large": ([[GOOD], [GOOD] * 4], "MaxConcurrentReached"),
    **{name: ([[GOOD], errands], code) for name, (errands, code) in RUNS.items() if errands and len(errands) < 4},
}


@pytest.fixture
def shop(kit: BoardKit) -> BoardKit:
    board = kit.board
    board.projects.init("/srv/shop", git=False)
    board.agents.archive("writer")
    board.agents.add("ann", type="human")
    broken = Health(board.agents.show("reviewer").id, "failed", "it is not there")
    board.hosts.note_health(broken)
    return kit


def require_refused(kit: BoardKit, ask: Callable[[], object], code: str) -> None:
    store = kit.board.store
    before, runs = store.newest_cursor(), store.read(lambda transaction: transaction.executions.many())
    with pytest.raises(KumihimoError) as refusal:
        ask()
    assert refusal.value.code == code
    assert store.newest_cursor() == before
    assert store.read(lambda transaction: transaction.executions.many()) == runs
    assert kit.board.executions.claim("host") is None


@pytest.mark.parametrize("name", RUNS)
def test_a_group_is_not_run(shop: BoardKit, name: str) -> None:
    errands, code = RUNS[name]
    group = shop.board.groups.create("all at once")
    require_refused(shop, lambda: shop.board.groups.run(group.id, errands, LIMITS), code)


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_not_made(shop: BoardKit, name: str) -> None:
    stages, code = PLANS[name]
    group = shop.board.groups.create("in stages", mode="sequential")
    require_refused(shop, lambda: shop.board.groups.plan(group.id, stages, LIMITS), code)
    assert shop.board.groups.show(group.id) == group


def test_a_group_that_is_not_there_or_deleted_or_of_the_other_kind_runs_nothing(shop: BoardKit) -> None:
    groups = shop.board.groups
    deleted = groups.create("deleted")
    groups.delete(deleted.id)
    staged = groups.create("in stages", mode="sequential")
    at_once = groups.create("all at once")
    for reference, code in [("grp-1-none", "GroupNotFound"), (deleted.id, "GroupNotActive"), ("a\0b", "GroupNotFound")]:
        require_refused(shop, lambda reference=reference: groups.run(reference, [GOOD], LIMITS), code)
        require_refused(shop, lambda reference=reference: groups.plan(reference, [[GOOD]], LIMITS), code)
    require_refused(shop, lambda: groups.run(staged.id, [GOOD], LIMITS), "ModeMismatch")
    require_refused(shop, lambda: groups.plan(at_once.id, [[GOOD]], LIMITS), "ModeMismatch")


def test_a_second_plan_on_a_group_is_refused_and_the_first_stays(shop: BoardKit) -> None:
    groups = shop.board.groups
    group = groups.create("in stages", mode="sequential")
    made = groups.plan(group.id, [[GOOD], [GOOD]], LIMITS)
    for run in made.stages[0]:
        shop.board.executions.stop(run.id)
    for run in made.stages[1]:
        shop.board.executions.stop(run.id)
    require_refused(shop, lambda: groups.plan(group.id, [[GOOD]], LIMITS), "PlanFailed")


def test_slots_are_counted_over_all_groups_and_freed_by_ends(shop: BoardKit) -> None:
    groups = shop.board.groups
    first, second = groups.create("one"), groups.create("two")
    runs = groups.run(first.id, [GOOD, GOOD], LIMITS)
    for run in runs:
        shop.board.executions.start(run.id, 0)
    require_refused(shop, lambda: groups.run(second.id, [GOOD, GOOD], LIMITS), "MaxConcurrentReached")
    shop.board.executions.complete(runs[0].id, 0)
    assert len(groups.run(second.id, [GOOD, GOOD], LIMITS)) == 2
