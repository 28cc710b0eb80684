"""What a repository is given comes back equal, from the table and from the event, on both databases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from kumihimo.domain.context import ContextEntry
from kumihimo.domain.event import Change
from kumihimo.domain.task import Task
from kumihimo.domain.text import LINE_LIMIT, LONG_LIMIT
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.store.store import Transaction
from kumihimo.testing.boards import BoardKit

from . import values

EXAMPLES = settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=True,
    # One database for all examples: each writes things of its own.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Ground:
    """A board with what other things point to, and ids that were not used before."""

    def __init__(self, kit: BoardKit) -> None:
        self.store = kit.board.store
        self.project = kit.board.projects.init("/srv/shop", git=False).project.id
        self.agent = kit.board.agents.show("coder").id
        self.tasks = [kit.board.tasks.create(Place(self.project), NewTask(f"t{n}")).task.id for n in range(4)]
        self._count = 100

    def count(self) -> int:
        self._count += 1
        return self._count

    def comes_back(self, write: Callable[[Transaction], object], repository: str, value: Any) -> None:
        cursor = self.store.newest_cursor()
        self.store.write(write)
        assert self.store.read(lambda t: getattr(t, repository).get(value.id)) == value
        (event,) = self.store.events_after(cursor)
        assert msgspec.json.decode(event.data, type=type(value)) == value

    def added(self, repository: str, value: Any) -> None:
        noun = {"contexts": "context", "memories": "memory"}.get(repository, repository.rstrip("s"))
        change = Change(value, f"{noun}.created", kept_time(value))
        self.comes_back(lambda t: getattr(t, repository).add(change), repository, value)


def kept_time(value: Any) -> Any:
    return next(getattr(value, name) for name in ("created_at", "queued_at", "started_at") if hasattr(value, name))


@pytest.fixture
def ground(kit: BoardKit) -> Ground:
    return Ground(kit)


@EXAMPLES
@given(data=st.data())
def test_agents_come_back(ground: Ground, data: st.DataObject) -> None:
    ground.added("agents", data.draw(values.agents(f"agt_{ground.count()}")))


@EXAMPLES
@given(data=st.data())
def test_tasks_come_back_with_what_they_depend_on_in_order(ground: Ground, data: st.DataObject) -> None:
    number = ground.count()
    drawn = values.tasks(f"tsk_{number}", number, ground.project, ground.agent, ground.tasks)
    value: Task = data.draw(drawn)
    ground.comes_back(lambda t: t.tasks.add_task(Change(value, "task.created", value.created_at)), "tasks", value)
    changed: Task = data.draw(drawn)
    change = Change(changed, "task.updated", changed.updated_at)
    ground.comes_back(lambda t: t.tasks.save_dependencies(change), "tasks", changed)


@EXAMPLES
@given(data=st.data())
def test_contexts_and_handoffs_come_back(ground: Ground, data: st.DataObject) -> None:
    number = ground.count()
    ground.added("contexts", data.draw(values.contexts(f"ctx_{number}", ground.project, ground.tasks[0], ground.agent)))
    ground.added("handoffs", data.draw(values.handoffs(f"hnd_{number}", ground.project, ground.tasks[0], ground.agent)))


@EXAMPLES
@given(data=st.data())
def test_memories_and_groups_come_back(ground: Ground, data: st.DataObject) -> None:
    number = ground.count()
    ground.added("memories", data.draw(values.memories(f"slug-{number}", ground.project)))
    ground.added("groups", data.draw(values.groups(f"grp-{number}", ground.project)))


@EXAMPLES
@given(data=st.data())
def test_sessions_come_back_and_nothing_of_their_token_is_in_the_log(ground: Ground, data: st.DataObject) -> None:
    number = ground.count()
    value = data.draw(values.sessions(f"ssn_{number}", ground.project, ground.agent))
    ended = msgspec.structs.replace(value, status="ended")
    change = Change(ended, "session.started", ended.started_at)
    ground.comes_back(lambda t: t.sessions.open(change, f"secret-{number}"), "sessions", ended)
    assert "secret-" not in str([bytes(event.data) for event in ground.store.events_after(None, 10_000)])


@EXAMPLES
@given(data=st.data())
def test_executions_come_back(ground: Ground, data: st.DataObject) -> None:
    drawn = values.executions(f"exec_{ground.count()}", ground.project, ground.tasks[0], ground.agent)
    value = data.draw(drawn)
    ground.added("executions", value)
    changed = data.draw(drawn)
    change = Change(changed, "execution.updated", changed.queued_at)
    ground.comes_back(lambda t: t.executions.save(change), "executions", changed)


@EXAMPLES
@given(data=st.data())
def test_of_a_change_that_knows_what_was_before_only_the_rest_is_written(ground: Ground, data: st.DataObject) -> None:
    identifier = f"exec_{ground.count()}"
    drawn = values.executions(identifier, ground.project, ground.tasks[0], ground.agent)
    before, after = data.draw(drawn), data.draw(drawn)
    ground.added("executions", before)
    change = Change(after, "execution.updated", after.queued_at, before)
    ground.comes_back(lambda t: t.executions.save(change), "executions", after)
    # What somebody else has written meanwhile stays, where it is not what changed.
    elsewhere = msgspec.structs.replace(after, branch="theirs", fence=7)
    ground.store.write(lambda t: t.executions.save(Change(elsewhere, "execution.updated", after.queued_at)))
    ours = msgspec.structs.replace(after, prompt=after.prompt + "!")
    ground.store.write(lambda t: t.executions.save(Change(ours, "execution.updated", after.queued_at, after)))
    found = ground.store.read(lambda t: t.executions.get(identifier))
    assert found == msgspec.structs.replace(ours, branch="theirs", fence=7)


def test_a_change_of_nothing_is_an_event_and_touches_no_row(ground: Ground) -> None:
    drawn = values.executions("exec_same", ground.project, ground.tasks[0], ground.agent)
    value = msgspec.structs.replace(find(drawn, lambda _: True), origin="group")
    ground.added("executions", value)
    theirs = msgspec.structs.replace(value, branch="theirs")
    ground.store.write(lambda t: t.executions.save(Change(theirs, "execution.updated", value.queued_at)))
    cursor = ground.store.newest_cursor()
    ground.store.write(lambda t: t.executions.save(Change(value, "execution.updated", value.queued_at, value)))
    assert len(ground.store.events_after(cursor)) == 1
    assert ground.store.read(lambda t: t.executions.get(value.id)) == theirs


@pytest.mark.parametrize("letter", ["x", "組", "🧵", "\u202b"])
def test_the_longest_texts_come_back(ground: Ground, letter: str) -> None:
    at = values._EPOCH
    entry = ContextEntry("ctx_long", ground.project, ground.tasks[0], None, "note", letter * LONG_LIMIT, at)
    ground.added("contexts", entry)


@pytest.mark.parametrize("letter", ["x", "組", "🧵"])
def test_the_longest_texts_pass_the_services(kit: BoardKit, letter: str) -> None:
    here = Place(kit.board.projects.init("/srv/shop", git=False).project.id)
    new = NewTask(letter * LINE_LIMIT, description=letter * LONG_LIMIT)
    made = kit.board.tasks.create(here, new)
    shown = kit.board.tasks.show(here, made.task.number).task
    assert (shown.title, shown.description) == (new.title, new.description)


def test_an_id_is_found_by_its_beginning_and_nothing_else_is(ground: Ground, kit: BoardKit) -> None:
    def found(prefix: str) -> list[str]:
        return [value.id for value in ground.store.read(lambda t: t.tasks.starting_with(prefix, 100))]

    assert found("tsk_") == sorted(ground.tasks)
    assert found(ground.tasks[0]) == [ground.tasks[0]]
    assert found("tsk_%") == []
    assert found("ts_") == []
    assert found("TSK_") == []
