from __future__ import annotations

import pytest

from kumihimo.domain.errors import (
    AgentNotFound,
    HandoffAlreadyAccepted,
    HandoffNotFound,
    InvalidValue,
    PermissionDenied,
)
from tests.services.conftest import Shop


def test_a_handoff_waits_for_whom_it_is_meant_until_they_accept_it(shop: Shop) -> None:
    handoffs, task = shop.kit.board.handoffs, shop.task()
    made = handoffs.create(
        shop.here, task.number, from_agent="coder", to_agent="reviewer", summary="tests are red",
        context="see branch", recommendations="start small", next_steps=["a", "b"], warnings=["mind c"],
    )  # fmt: skip
    assert [view.handoff for view in handoffs.pending(agent="reviewer")] == [made.handoff]
    assert handoffs.pending(agent="writer") == []
    with pytest.raises(PermissionDenied, match="another agent"):
        handoffs.accept(made.handoff.id, "writer")
    accepted = handoffs.accept(made.handoff.id[:-1], "reviewer").handoff
    assert (accepted.status, accepted.accepted_by, accepted.accepted_at) == (
        "accepted",
        shop.reviewer.id,
        shop.kit.clock(),
    )
    assert handoffs.pending(agent="reviewer") == []
    with pytest.raises(HandoffAlreadyAccepted):
        handoffs.accept(made.handoff.id, "reviewer")


def test_a_handoff_for_anybody_waits_for_everyone_in_the_project_but_the_giver(shop: Shop) -> None:
    board = shop.kit.board
    made = board.handoffs.create(shop.here, shop.task().number, from_agent="coder", summary="who takes it?").handoff
    stranger = board.agents.add("stranger").agent
    assert [view.handoff.id for view in board.handoffs.pending(agent="reviewer")] == [made.id]
    assert board.handoffs.pending(agent="coder") == []
    assert board.handoffs.pending(agent="stranger") == []
    with pytest.raises(PermissionDenied, match="not in project"):
        board.handoffs.accept(made.id, stranger.id)
    assert board.handoffs.accept(made.id, "writer").handoff.accepted_by


def test_accepting_does_not_reassign_the_task(shop: Shop) -> None:
    board, task = shop.kit.board, shop.task()
    made = board.handoffs.create(shop.here, task.number, from_agent="coder", to_agent="reviewer", summary="x").handoff
    board.handoffs.accept(made.id, "reviewer")
    assert board.tasks.show(shop.here, task.number).assignee == shop.coder


def test_the_latest_handoff_of_a_task_is_the_one_that_was_made_last(shop: Shop) -> None:
    board, task = shop.kit.board, shop.task()
    assert board.handoffs.latest(shop.here, task.number) is None
    for summary in ("first", "second"):
        board.handoffs.create(shop.here, task.number, from_agent="coder", summary=summary)
    latest = board.handoffs.latest(shop.here, task.number)
    assert latest is not None
    assert latest.summary == "second"


def test_a_handoff_without_words_or_of_strangers_is_refused(shop: Shop) -> None:
    handoffs, task = shop.kit.board.handoffs, shop.task()
    events = shop.events()
    with pytest.raises(InvalidValue, match="summary"):
        handoffs.create(shop.here, task.number, from_agent="coder", summary=" ")
    with pytest.raises(AgentNotFound):
        handoffs.create(shop.here, task.number, from_agent="nobody", summary="x")
    for reference in ("hnd_nothing", "", "hnd_\0", "other"):
        with pytest.raises(HandoffNotFound):
            handoffs.accept(reference, "coder")
    assert shop.events() == events
