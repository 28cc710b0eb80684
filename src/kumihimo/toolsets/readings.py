"""What can be read by URI in the snake_case dialect: agents, projects, tasks, contexts, handoffs, executions."""

from __future__ import annotations

from typing import Any

import msgspec

from kumihimo.domain.errors import HandoffNotFound
from kumihimo.operations.operation import Call
from kumihimo.settings import Language
from kumihimo.toolsets.snake import agents, contexts, executions, handoffs, projects, sessions, tasks
from kumihimo.toolsets.toolset import Resource

JSON = "application/json"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def agent(call: Call, values: dict[str, str], _: Language) -> str:
    return _json(agents.shape(call.board.agents.show(values["id"])))


def project(call: Call, values: dict[str, str], _: Language) -> str:
    return _json(projects.shape(call.board.projects.show(values["id"])))


def task(call: Call, values: dict[str, str], _: Language) -> str:
    return _json(tasks.shape(call.board.tasks.get(call.place, values["id"])))


def context(call: Call, values: dict[str, str], language: Language) -> str:
    return _json(contexts.one(call.board.contexts.show(call.place, values["taskId"], history=True), language))


def handoff(call: Call, values: dict[str, str], _: Language) -> str:
    found = call.board.handoffs.latest(call.place, values["taskId"])
    if found is None:
        raise HandoffNotFound(values["taskId"])
    return _json(handoffs.shape(found))


def execution(call: Call, values: dict[str, str], _: Language) -> str:
    return _json(executions.shape(call.board.executions.show(values["id"]), whole=True))


def executions_of(call: Call, values: dict[str, str], language: Language) -> str:
    found = call.board.tasks.get(call.place, values["taskId"])
    return _json(executions.page(call.board.executions.list(task_id=found.id, limit=1_000), language))


def me(call: Call, _: dict[str, str], __: Language) -> str:
    return _json(agents.shape(call.board.agents.show(call.session.agent_id)))


def current_session(call: Call, _: dict[str, str], __: Language) -> str:
    return _json(sessions.shape(call.session))


TEMPLATES = (
    Resource("agent://{id}", "Agent by ID", "An agent: who it is and what it can do.", JSON, agent),
    Resource("project://{id}", "Project by ID", "A project and its agents.", JSON, project),
    Resource("task://{id}", "Task by ID", "A task.", JSON, task),
    Resource("context://{taskId}", "Task Context", "What is known about a task, with all that was ever saved.", JSON, context),
    Resource("handoff://{taskId}", "Task Handoff", "The latest handoff of a task.", JSON, handoff),
    Resource("execution://{id}", "Execution by ID", "The record of one execution.", JSON, execution),
    Resource("executions://{taskId}", "Executions of a task", "The records of a task's executions, newest first.", JSON,
             executions_of),
)  # fmt: skip
OWN = (
    Resource("agent://me", "My Agent", "Who you are.", JSON, me),
    Resource("session://current", "Current Session", "Your session.", JSON, current_session),
)
