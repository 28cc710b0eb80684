"""`resident`: for one agent for the life of a process. Refusals are JSON-RPC errors."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta

from kumihimo.toolsets import prompting
from kumihimo.toolsets.readings import OWN, TEMPLATES
from kumihimo.toolsets.snake import agents, contexts, handoffs, sessions, tasks
from kumihimo.toolsets.toolset import Prompt, Tool, Toolset

_NoteKind = Annotated[
    Literal["note", "decision", "assumption", "blocker", "reference", "artifact"],
    Meta(description="Which kind of entry it is."),
]
_TaskIdType = Annotated[str, Meta(description="The id of a task.")]
_TASK_ID = ("task_id", "The id of the task.")

TOOLSET = Toolset(
    "resident",
    "resident",
    "bound",
    (
        Tool("get_my_profile", "mine.profile", "Get my profile", agents.AgentAnswer, agents.one, caller="bound"),
        Tool("list_agents", "mine.colleagues", "List the agents of the project", agents.AgentsAnswer, agents.many,
             caller="bound"),
        Tool("get_my_tasks", "mine.tasks", "Get my tasks", tasks.TasksAnswer, tasks.many, caller="bound"),
        Tool("update_task_status", "mine.move_task", "Update the status of a task", tasks.TaskAnswer, tasks.one,
             caller="bound"),
        Tool("add_context", "mine.add_context", "Add context to a task", contexts.EntryAnswer, contexts.entry,
             types={"type": _NoteKind}, caller="bound"),
        Tool("create_handoff", "mine.hand_over", "Create a handoff", handoffs.HandoffAnswer, handoffs.one,
             types={"task_id": _TaskIdType}, required=("task_id", "next_steps"),
             without=("context", "recommendations", "agent_id"), caller="bound"),
        Tool("get_pending_handoffs", "mine.handoffs", "Get pending handoffs", handoffs.HandoffsAnswer, handoffs.many,
             without=("agent_id",), caller="bound"),
        Tool("end_session", "mine.end_session", "End the session", sessions.SessionAnswer, sessions.one, caller="bound"),
    ),
    (*OWN, *TEMPLATES),
    (
        Prompt("session_start", "Start the session", "Who you are, your tasks, and what waits for you.", (),
               prompting.session_start),
        Prompt("task_start", "Start a task", "What one needs to know to begin.", (_TASK_ID,),
               partial(prompting.task_start, begin="begin_as_resident")),
        Prompt("handoff_template", "Hand a task over", "How to write a handoff of this task.", (_TASK_ID,),
               partial(prompting.handoff_template, guide="handoff_guide_of_resident")),
        Prompt("session_end", "End the session", "How to leave things in order.", (), prompting.session_end),
    ),
)  # fmt: skip
