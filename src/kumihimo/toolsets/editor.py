"""`editor`: for a session in an editor that plans tasks, starts workers and keeps decisions. Answers as the terminal does."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kumihimo.domain.task import Priority
from kumihimo.operations.operation import Call
from kumihimo.settings import Language
from kumihimo.toolsets.camel import agents as camel_agents
from kumihimo.toolsets.camel import tasks as camel_tasks
from kumihimo.toolsets.toolset import Resource, Tool, Toolset

_TaskRef = Annotated[int | str, Meta(description="A task: its number, or its tsk_ id.")]
_EditorStatus = Annotated[
    Literal["open", "in_progress", "done", "failed", "cancelled"], Meta(description="Only those in this status.")
]
_Urgency = Annotated[Priority, Meta(description="How much it matters.")]
_TASK_ARGUMENTS = {"assignee_type": "assigneeType"}
_PLANNING = ("depends_on", "parent", "dod", "write", "exclude", "host", "retries", "retry_on")


def memory(call: Call, _: dict[str, str], __: Language) -> str:
    return call.board.memories.preview(call.place).content


def task(call: Call, values: dict[str, str], _: Language) -> str:
    return msgspec.json.encode(camel_tasks.task(call.board.tasks.show(call.place, values["id"]))).decode()


def agent(call: Call, values: dict[str, str], _: Language) -> str:
    """The definition as YAML: JSON values are YAML too, so a line for each key is enough."""
    shown: dict[str, Any] = msgspec.to_builtins(camel_agents.agent(call.board.agents.show(values["name"])))
    return "".join(f"{key}: {msgspec.json.encode(value).decode()}\n" for key, value in shown.items())


TOOLSET = Toolset(
    "editor",
    "camel",
    "owner",
    (
        Tool("task_list", "task.list", "List tasks", types={"status": _EditorStatus | None}),
        Tool("task_get", "task.show", "Get a task", names={"task": "id"}, types={"task": _TaskRef}),
        Tool("task_create", "task.create", "Create a task", names=_TASK_ARGUMENTS, types={"priority": _Urgency},
             without=("status", *_PLANNING)),
        Tool("task_update", "task.update", "Update a task", names={"task": "id", **_TASK_ARGUMENTS},
             types={"task": _TaskRef, "priority": _Urgency | None}, without=("reason", "force", *_PLANNING)),
        Tool("worker_command", "worker.command", "Get the command that starts a worker",
             names={"task": "taskId"}, types={"task": _TaskRef}, without=("worktree", "skip_dod")),
        Tool("session_start", "session.start", "Start a session", names={"task": "taskId"}, types={"task": _TaskRef}),
        Tool("session_end", "session.end", "End a session",
             names={"session": "sessionId", "exit_code": "exitCode", "dod_result": "dodResult"}),
        Tool("session_list", "session.list", "List sessions", names={"task": "taskId"}, types={"task": _TaskRef | None}),
        Tool("agent_list", "agent.list", "List agents"),
        Tool("agent_get", "agent.show", "Get an agent", names={"agent": "name"}),
        Tool("memory_list", "memory.list", "List decisions"),
        Tool("memory_preview", "memory.preview", "Preview what an agent is given"),
        Tool("memory_add", "memory.add", "Add a decision", names={"memory": "id"}),
    ),
    (
        Resource("project://memory", "Memory Bank", "The active decisions of this project.", "text/markdown", memory),
        Resource("task://{id}", "Task #{id}", "A task, by number or id.", "application/json", task),
        Resource("agent://{name}", "Agent: {name}", "The definition of an agent.", "application/yaml", agent),
    ),
)  # fmt: skip
