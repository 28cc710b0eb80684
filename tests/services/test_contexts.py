from __future__ import annotations

import pytest

from kumihimo.domain.context import NOTE_KINDS
from kumihimo.domain.errors import InvalidValue, TaskNotFound
from tests.services.conftest import Shop


def test_what_was_last_said_stands_and_everything_said_is_kept(shop: Shop) -> None:
    contexts, task = shop.kit.board.contexts, shop.task()
    contexts.save(
        shop.here, task.number, progress="forty percent", findings="old API", blockers="no key", next_steps="ask"
    )
    contexts.save(shop.here, task.number, progress="sixty percent", agent="coder")
    shown = contexts.show(shop.here, task.number, history=True)
    assert (shown.progress, shown.findings, shown.blockers, shown.next_steps) == (
        "sixty percent",
        "old API",
        "no key",
        "ask",
    )
    assert shown.history is not None
    assert [entry.content for entry in shown.history if entry.kind == "progress"] == ["forty percent", "sixty percent"]
    assert shown.history[-1].agent_id == shop.coder.id
    assert contexts.show(shop.here, task.number).history is None


def test_notes_of_every_kind_are_kept_beside_the_state_of_the_work(shop: Shop) -> None:
    contexts, task = shop.kit.board.contexts, shop.task()
    for kind in NOTE_KINDS:
        contexts.add(shop.here, task.number, f"a {kind}", kind)
    contexts.save(shop.here, task.number, progress="half")
    assert [(note.kind, note.content) for note in contexts.show(shop.here, task.number).notes] == [
        (kind, f"a {kind}") for kind in NOTE_KINDS
    ]


def test_nothing_to_say_is_refused_and_so_is_an_unknown_task(shop: Shop) -> None:
    contexts, task = shop.kit.board.contexts, shop.task()
    events = shop.events()
    with pytest.raises(InvalidValue, match="at least one of"):
        contexts.save(shop.here, task.number)
    with pytest.raises(InvalidValue, match="empty"):
        contexts.add(shop.here, task.number, "  ", "note")
    with pytest.raises(TaskNotFound):
        contexts.save(shop.here, 99, progress="x")
    assert shop.events() == events
