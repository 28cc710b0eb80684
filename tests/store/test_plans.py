"""Every question has its index: SQLite says itself how it would go about each statement that the services ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.store.executions import Reach
from kumihimo.store.paging import encode
from kumihimo.testing.boards import BoardKit

from .recording import RecordingConnection, record

Question = Callable[[BoardKit, Place], object]

QUESTIONS: dict[str, Question] = {
    "tasks": lambda kit, here: kit.board.tasks.list(here),
    "the next tasks": lambda kit, here: kit.board.tasks.list(here, cursor=encode(5)),
    "tasks of a status": lambda kit, here: kit.board.tasks.list(here, statuses=["todo"]),
    "tasks of some statuses": lambda kit, here: kit.board.tasks.list(here, statuses=["todo", "blocked"]),
    "tasks of an agent": lambda kit, here: kit.board.tasks.list(here, assignee="coder"),
    "a task": lambda kit, here: kit.board.tasks.show(here, 1),
    "a changed task": lambda kit, here: kit.board.tasks.update(here, 1, title="new"),
    "a started task": lambda kit, here: kit.board.tasks.update(here, 1, status="in_progress"),
    "a finished task": lambda kit, here: kit.board.tasks.update(here, 1, status="done"),
    "a new dependency": lambda kit, here: kit.board.tasks.update(here, 1, depends_on=[2]),
    "numbers of tasks": lambda kit, here: kit.board.tasks.counts(here.project or ""),
    "executions": lambda kit, _: kit.board.executions.list(),
    "executions of an agent": lambda kit, _: kit.board.executions.list(agent_id="agt_1"),
    "executions of a task": lambda kit, _: kit.board.executions.list(task_id="tsk_1"),
    "the next executions": lambda kit, _: kit.board.executions.list(cursor=encode(5, "exec_1")),
    "sessions of a project": lambda kit, here: kit.board.work_sessions.list(here),
    "sessions of a task": lambda kit, here: kit.board.work_sessions.list(here, task=1),
    "a session that starts": lambda kit, here: kit.board.work_sessions.start(here, 2),
    "a claim": lambda kit, _: kit.board.executions.claim("host"),
    "leases that ran out": lambda kit, _: kit.board.executions.lose_expired(),
    "whether a retry waits": lambda kit, _: kit.board.retries.waiting(),
    "retries for a host": lambda kit, _: kit.board.retries.within_reach("host_here"),
    "runs that were overtaken": lambda kit, _: kit.board.retries.overtaken("host_here"),
    "places to be made": lambda kit, _: kit.board.executions.to_be_placed(("host_here",)),
    "what waits for a host": lambda kit, _: kit.board.hosts.extend("host_here", Reach(("host_here",), ("codex",))),
    "whether there are traces": lambda kit, _: kit.board.evidence.anything_to_look_at("host_here"),
    "live executions": lambda kit, _: kit.board.executions.count_live(),
    "what waits in a project": lambda kit, here: kit.board.handoffs.pending(place=here),
    "what waits for an agent": lambda kit, _: kit.board.handoffs.pending(agent="coder"),
    "what waits anywhere": lambda kit, _: kit.board.handoffs.pending(),
    "the latest handoff": lambda kit, here: kit.board.handoffs.latest(here, 1),
    "the context of a task": lambda kit, here: kit.board.contexts.show(here, 1, history=True),
    "memories": lambda kit, here: kit.board.memories.list(here),
    "agents of a project": lambda kit, here: kit.board.agents.list(project_id=here.project),
    "a login": lambda kit, here: kit.board.sessions.open(kit.board.agents.show("coder").id, here.project or ""),
    "a live session": lambda kit, here: kit.board.sessions.live("agt_1", here.project or ""),
    "live sessions": lambda kit, _: kit.board.sessions.count_live(),
    "sessions that are over": lambda kit, _: kit.board.sessions.sweep(),
    "groups": lambda kit, _: kit.board.groups.list(),
    "events": lambda kit, _: kit.board.store.events_after("1"),
    "the newest event": lambda kit, _: kit.board.store.newest_cursor(),
}


@pytest.fixture
def filled(tmp_path: Path) -> tuple[BoardKit, Place, RecordingConnection]:
    kit = BoardKit(tmp_path / "kumi.db")
    here = Place(kit.board.projects.init("/srv/shop", git=False).project.id)
    for title in ("one", "two"):
        kit.board.tasks.create(here, NewTask(title, assignee="coder"))
    kit.board.executions.enqueue(Wish(kit.board.agents.show("coder"), "group"))
    kit.board.hosts.renew("host_here", "here", 5, clients=("codex",), projects=(here.project or "",))
    return kit, here, record(kit.board.store)


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_reads_a_whole_table(filled: tuple[BoardKit, Place, Any], name: str) -> None:
    kit, here, recording = filled
    if name == "a finished task":
        kit.board.tasks.update(here, 1, status="in_progress")
    recording.asked.clear()
    QUESTIONS[name](kit, here)
    scans = [
        (step, sql)
        for sql, values in recording.asked
        # An INSERT names the tables that point to its own, and looks into them only where something is amiss already.
        if not sql.startswith(("INSERT", "PRAGMA"))
        for step in plan(recording, sql, values)
        if step.startswith("SCAN") and "USING" not in step and "seen" not in step and step != "SCAN CONSTANT ROW"
    ]
    kit.close()
    assert scans == []


def plan(recording: RecordingConnection, sql: str, values: Any) -> list[str]:
    """Walking along an index in its order is no scan: the page's LIMIT ends it."""
    rows = recording._connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)
    return [row[3] for row in rows]


PAGED = (
    "tasks",
    "the next tasks",
    "executions",
    "the next executions",
    "executions of an agent",
    "executions of a task",
)


@pytest.mark.parametrize("name", PAGED)
def test_a_page_is_read_in_the_order_of_an_index_and_not_sorted(filled: tuple[BoardKit, Place, Any], name: str) -> None:
    kit, here, recording = filled
    recording.asked.clear()
    QUESTIONS[name](kit, here)
    paged = [(sql, values) for sql, values in recording.asked if "LIMIT ?" in sql and "DESC" in sql]
    assert paged
    steps = [step for sql, values in paged for step in plan(recording, sql, values)]
    kit.close()
    assert [step for step in steps if "TEMP B-TREE FOR ORDER BY" in step] == []
