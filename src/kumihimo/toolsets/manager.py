"""`manager`: for who plans projects and tasks and reads the records."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.domain.task import TaskStatus
from kumihimo.operations.handoffs import Giver, Summary
from kumihimo.toolsets import prompting
from kumihimo.toolsets.readings import TEMPLATES
from kumihimo.toolsets.snake import agents, contexts, executions, handoffs, projects, tasks
from kumihimo.toolsets.toolset import Prompt, Tool, Toolset

_TASK_ID = ("task_id", "The id of the task.")
_Status = Annotated[TaskStatus, Meta(description="A status of the board.")]
_TaskIdType = Annotated[str, Meta(description="The id of a task.")]

TOOLSET = Toolset(
    "manager",
    "snake",
    "owner",
    (
        Tool("list_projects", "project.list", "List projects", projects.ProjectsAnswer, projects.many),
        Tool("get_project", "project.show", "Get a project", projects.ProjectAnswer, projects.one,
             names={"project": "project_id"}),
        Tool("list_tasks", "task.list_of_project", "List tasks", tasks.TasksAnswer, tasks.page),
        Tool("get_task", "task.get", "Get a task", tasks.TaskAnswer, tasks.bare, names={"task": "task_id"},
             types={"task": _TaskIdType}),
        Tool("update_task_status", "task.update", "Update the status of a task", tasks.TaskAnswer, tasks.one,
             names={"task": "task_id"}, types={"task": _TaskIdType, "status": _Status}, required=("status",),
             without=("title", "description", "priority", "type", "assignee", "assignee_type", "depends_on", "parent",
                      "force", "dod", "write", "exclude", "host", "retries", "retry_on")),
        Tool("assign_task", "task.assign", "Assign a task", tasks.TaskAnswer, tasks.one,
             names={"task": "task_id", "agent": "assignee_id"}, types={"task": _TaskIdType}),
        Tool("get_agent_profile", "agent.show", "Get the profile of an agent", agents.AgentAnswer, agents.one,
             names={"agent": "agent_id"}, aliases=("get_my_profile",)),
        Tool("list_agents", "agent.list", "List agents", agents.AgentsAnswer, agents.page),
        Tool("list_execution_logs", "execution.list", "List execution logs", executions.LogsAnswer, executions.page,
             names={"task": "task_id", "agent": "agent_id"}, types={"task": _TaskIdType | None}),
        Tool("get_execution_log", "execution.show", "Get an execution log", executions.LogAnswer, executions.one,
             names={"execution": "execution_id"}),
        Tool("save_context", "context.save", "Save context", contexts.ContextAnswer, contexts.one,
             names={"task": "task_id"}, types={"task": _TaskIdType}, without=("agent",)),
        Tool("get_task_context", "context.show", "Get the context of a task", contexts.ContextAnswer, contexts.one,
             names={"task": "task_id", "history": "include_history"}, types={"task": _TaskIdType}),
        Tool("create_handoff", "handoff.create", "Create a handoff", handoffs.HandoffAnswer, handoffs.one,
             names={"task": "task_id", "from_agent": "from_agent_id", "to_agent": "to_agent_id"},
             types={"task": _TaskIdType, "from_agent": Giver, "summary": Summary}, required=("from_agent", "summary"),
             without=("next_steps", "warnings", "from_run")),
        Tool("accept_handoff", "handoff.accept", "Accept a handoff", handoffs.HandoffAnswer, handoffs.one,
             names={"handoff": "handoff_id", "agent": "agent_id"}),
        Tool("get_pending_handoffs", "handoff.pending", "Get pending handoffs", handoffs.HandoffsAnswer, handoffs.many,
             names={"agent": "agent_id"}),
        Tool("create_task", "task.create_in_project", "Create a task", tasks.TaskAnswer, tasks.one),
        Tool("create_project", "project.add", "Create a project", projects.ProjectAnswer, projects.one,
             names={"directory": "working_directory"}, without=("worktrees",)),
        Tool("add_task_dependency", "task.depend", "Add a dependency", tasks.TaskAnswer, tasks.one,
             names={"task": "task_id"}, types={"task": _TaskIdType, "depends_on": _TaskIdType}),
    ),
    TEMPLATES,
    (
        Prompt("task_start", "Start a task", "What one needs to know to begin: the task, its context, the history of work.",
               (_TASK_ID, ("agent_id", "The id of the agent that begins.")), prompting.task_start),
        Prompt("handoff_template", "Hand a task over", "How to write a handoff of this task.",
               (_TASK_ID, ("from_agent_id", "The id of the agent that hands over.")), prompting.handoff_template),
        Prompt("context_summary", "Summarise the context", "What is known about a task.", (_TASK_ID,),
               prompting.context_summary),
    ),
)  # fmt: skip
