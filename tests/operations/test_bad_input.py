"""Bad input of every kind, in every text of every operation: refused with a sentence, or kept as it is; never half of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kumihimo.domain.errors import InvalidValue, KumihimoError
from kumihimo.domain.messages import render
from kumihimo.operations.catalogue import every, named
from kumihimo.operations.operation import Call, Caller
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.settings import Flags, load
from kumihimo.testing.boards import BoardKit

BAD: dict[str, Any] = {
    "empty": "",
    "blank": "   ",
    "a megabyte": "x" * 1_000_000,
    "NUL": "a\0b",
    "emoji": "🎌👩‍👩‍👧",
    "bidi": "a\u202eb\u2066c",
    "path": "../../etc/passwd",
    "SQL": "'; DROP TABLE tasks;--",
    "escape": "\x1b[31m",
    "lone surrogate": "\ud800",
    "percent": "%s %(x)s {0} ?",
    "a number": 7,
    "a huge number": 10**40,
    "null": None,
    "a list": ["x"],
    "an object": {"x": 1},
    "true": True,
}
# Good arguments of every operation that has any and that is about the board; the others are tried in their own tests.
GOOD: dict[str, dict[str, Any]] = {
    "project.add": {"name": "other", "directory": "."},
    "project.show": {"project": "shop"},
    "project.assign": {"project": "shop", "agent": "coder"},
    "project.unassign": {"project": "shop", "agent": "writer"},
    "project.pause": {"project": "shop"},
    "project.resume": {"project": "shop"},
    "project.archive": {"project": "shop"},
    "agent.add": {"name": "dev", "client": "codex", "model": "m", "role": "r", "system_prompt": "s", "type": "ai",
                  "capabilities": ["c"], "dod": ["make"], "write": ["a"], "exclude": ["b"]},
    "agent.list": {"limit": 5, "cursor": None},
    "agent.show": {"agent": "coder"},
    "agent.update": {"agent": "coder", "role": "r", "model": "m", "client": "codex", "dod": ["x"], "status": "inactive"},
    "agent.rekey": {"agent": "coder"},
    "agent.archive": {"agent": "coder"},
    "task.create": {"title": "t", "description": "d", "priority": "high", "type": "bug", "assignee": "coder",
                    "assignee_type": "ai", "depends_on": [1], "parent": 1, "status": "todo", "dod": ["x"]},
    "task.list": {"status": "open", "assignee": "coder", "limit": 3, "cursor": None},
    "task.show": {"task": 1},
    "task.update": {"task": 1, "title": "t", "description": "d", "status": "in_progress", "reason": "r", "depends_on": [2],
                    "parent": 2, "assignee": "reviewer", "priority": "low", "force": True},
    "task.assign": {"task": 1, "agent": "reviewer"},
    "context.show": {"task": 1, "history": True},
    "context.save": {"task": 1, "progress": "p", "findings": "f", "blockers": "b", "next_steps": "n", "agent": "coder"},
    "context.add": {"task": 1, "content": "c", "type": "note", "agent": "coder"},
    "handoff.create": {"task": 1, "from_agent": "coder", "to_agent": "reviewer", "summary": "s", "context": "c",
                       "recommendations": "r", "next_steps": ["n"], "warnings": ["w"]},
    "handoff.accept": {"handoff": "hnd_", "agent": "reviewer"},
    "handoff.list": {"agent": "coder"},
    "memory.add": {"memory": "slug", "category": "rule", "title": "t", "summary": "s", "status": "draft", "content": "c"},
    "memory.list": {"category": "rule", "status": "active", "limit": 2, "cursor": None},
    "memory.show": {"memory": "linter"},
    "memory.preview": {"category": "rule", "status": "active"},
    "memory.update": {"memory": "linter", "title": "t", "category": "c", "content": "x", "status": "archived"},
    "memory.archive": {"memory": "linter"},
    "session.start": {"task": 2, "agent": "coder"},
    "session.end": {"session": 1, "exit_code": 0, "signal": "SIGTERM", "dod_result": "merged", "artifacts": ["a"], "error": "e"},
    "session.list": {"task": 1, "status": "running", "limit": 2, "cursor": None},
    "login.logout": {"session_token": "sess_x"},
    "execution.list": {"task": 1, "agent": "coder", "limit": 2, "cursor": None},
    "execution.show": {"execution": "exec_x"},
    "group.create": {"description": "d", "mode": "sequential"},
    "group.show": {"group": "grp-1-0000"},
    "group.delete": {"group": "grp-1-0000"},
    "task.get": {"task": 1},
    "task.depend": {"task": 2, "depends_on": 1},
    "task.list_of_project": {"project_id": "shop", "status": "todo", "assignee_id": "coder", "limit": 3, "cursor": None},
    "task.create_in_project": {"project_id": "shop", "title": "t", "description": "d", "priority": "low", "type": "bug",
                               "assignee_id": "coder", "depends_on": [1], "parent_task_id": 1},
    "handoff.pending": {"agent": "coder"},
    "instance.should_start": {"agent_id": "$coder", "project_id": "$shop"},
    "instance.report": {"agent_id": "$coder", "project_id": "$shop", "instance_id": "i", "state": "alive",
                        "working_directory": "/x", "exit_code": 1, "signal": "SIGTERM"},
    "instance.wait": {"timeout_ms": 5},
    "mine.colleagues": {"project_id": None},
    "mine.handoffs": {"agent_id": "$coder"},
    "mine.colleague": {"agent_id": "coder"},
    "mine.tasks": {"status": "todo"},
    "mine.report": {"result": "blocked", "summary": "s", "next_steps": "n"},
    "mine.move_task": {"task_id": "1", "status": "blocked", "reason": "r"},
    "mine.save_context": {"task_id": "1", "progress": "p", "findings": "f", "blockers": "b", "next_steps": "n"},
    "mine.context": {"task_id": "1", "include_history": True},
    "mine.add_context": {"task_id": "1", "content": "c", "type": "note"},
    "mine.hand_over": {"task_id": "1", "summary": "s", "to_agent_id": "reviewer", "context": "c", "recommendations": "r",
                       "next_steps": ["n"], "warnings": ["w"], "agent_id": "$coder"},
    "mine.take_up": {"handoff_id": "hnd_", "agent_id": "$coder"},
    "mine.end_session": {"summary": "s"},
    "mine.start_record": {"task_id": "1"},
    "mine.complete_record": {"execution_id": "exec_x", "exit_code": 0, "duration_seconds": 1.5, "log_file_path": "/x"},
    "run.list": {"group": None, "status": "running", "limit": 5, "cursor": None, "role": "coder", "project": "shop",
                 "since": "2026-11-16T00:00:00Z", "until": "2026-11-17T00:00:00Z"},
    "run.conversation": {"run": "exec_x", "cursor": "0", "limit": 5},
    "run.errors": {"run": "exec_x"},
    "board.search": {"query": "words", "limit": 5},
    "run.show": {"run": "exec_x"},
    "run.wait": {"runs": ["exec_x"], "timeout_ms": 0, "mode": "any"},
    "run.report": {"run": "exec_x", "status": "success", "summary": "s", "edited_files": ["a"], "created_files": ["b"],
                   "error_message": "e", "response": "r"},
    "run.stop": {"run": "exec_x", "now": True},
    "run.proof": {"run": "exec_x"},
    "run.output": {"run": "exec_x", "cursor": "0", "limit": 5},
    "mine.report_run": {"status": "success", "summary": "s", "run": "exec_x", "edited_files": ["a"], "created_files": ["b"],
                        "error_message": "e", "response": "r"},
    "worker.command": {"task": 2, "agent": "coder", "client": "codex", "auto": True},
    "worker.wait": {"task": 2, "timeout": 0.0},
    "worker.stop": {"task": 2, "now": True},
    "worker.done": {"task": 2, "skip_dod": True},
    "worker.list": {"limit": 2, "cursor": None},
    "merge.run": {"work": [2], "skip_dod": True},
    "worktree.gc": {"dry_run": True},
    "worktree.restore": {"work": 2},
}  # fmt: skip
# These start something, or take a good deal more than texts.
APART = {
    "project.init", "login.authenticate", "board.doctor", "board.backup", "board.restore", "board.move",
    "group.run", "group.plan", "run.continue", "run.retry", "role.check", "worker.run",
    "hub.search", "hub.describe", "hub.call", "hub.batch", "hub.prompts", "hub.get_prompt", "hub.resources",
    "hub.read_resource", "hub.test", "server.add", "server.remove", "server.import",
}  # fmt: skip


@pytest.fixture
def call(kit: BoardKit, database: str, tmp_path: Path) -> Call:
    board = kit.board
    here = Place(board.projects.init(str(tmp_path), git=False).project.id)
    board.store.write(lambda t: t.projects.save_agents(t.projects.all()[0].unassign("nobody", kit.clock())))
    for title in ("one", "two"):
        board.tasks.create(here, NewTask(title, assignee="coder"))
    board.work_sessions.start(here, 1)
    board.handoffs.create(here, 1, from_agent="coder", to_agent="reviewer", summary="s")
    board.memories.add(here, "linter", category="rule", title="T")
    settings = load(Flags(db=database), {"KUMI_HOME": str(tmp_path)}, tmp_path)
    session = board.sessions.open(board.agents.show("coder").id, str(here.project)).session
    return Call(settings, msgspec.structs.replace(Caller.of_session(session), actor="owner"), lambda: board)


def attempts(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    good = {field: value for field, value in GOOD[name].items() if value is not None}
    for field in named(name).arguments.__struct_fields__:
        for kind, bad in BAD.items():
            yield f"{field}: {kind}", {**good, field: bad}
            if isinstance(good.get(field), list):
                yield f"{field}: a list of {kind}", {**good, field: [bad]}


def known(call: Call, value: Any) -> Any:
    """Ids that are known only once the board is there."""
    if value == "$coder":
        return call.board.agents.show("coder").id
    return call.place.project if value == "$shop" else value


def test_every_operation_is_tried_here_or_in_a_test_of_its_own() -> None:
    with_arguments = {operation.name for operation in every() if operation.arguments.__struct_fields__}
    assert with_arguments == set(GOOD) | APART


@pytest.mark.parametrize("name", list(GOOD))
def test_bad_input_is_refused_with_a_sentence_and_changes_nothing_or_is_kept_whole(call: Call, name: str) -> None:
    operation, store = named(name), call.board.store
    refused = 0
    for what, values in attempts(name):
        before = store.newest_cursor()
        try:
            operation(call, operation.read({field: known(call, value) for field, value in values.items()}))
        except KumihimoError as error:
            refused += 1
            for language in ("en", "ja"):
                sentence = render(error, language)
                assert 10 < len(sentence) < 2_000, (what, sentence)
            assert store.newest_cursor() == before, what
    assert refused, "something of all this is bad for every operation"


@pytest.mark.parametrize("name", list(GOOD))
def test_an_unknown_field_is_named(name: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        named(name).read({**GOOD[name], "colour": "red"})
    assert refusal.value.facts["field"] == "colour"


@pytest.mark.parametrize("name", ["project.add", "project.init"])
def test_a_folder_that_is_none_is_refused(call: Call, name: str) -> None:
    operation = named(name)
    good = {"name": "x"} if name == "project.add" else {}
    for bad in ("/no/such/folder", "a\0b", "kumi.db", "x" * 5_000, "~nobody-here/x"):
        with pytest.raises(InvalidValue):
            operation(call, operation.read({**good, "directory": bad}))


def test_a_text_that_is_taken_comes_back_as_it_was(call: Call) -> None:
    kept = "🎌 ../../etc/passwd '; DROP TABLE tasks;-- %s {0} ? 組紐"
    create: Callable[..., Any] = named("task.create")
    made = create(call, named("task.create").read({"title": kept, "description": kept + "\r\n\x1b[0m\u202e"}))
    shown = call.board.tasks.show(call.place, made.task.id).task
    assert (shown.title, shown.description) == (kept, kept + "\r\n\x1b[0m\u202e")
