"""`worker`: for an instance of an agent, once it has authenticated. Its token reaches its own project and nothing else."""

from __future__ import annotations

from kumihimo.toolsets.snake import agents, contexts, executions, handoffs, sessions, tasks
from kumihimo.toolsets.toolset import Tool, Toolset

_TOKEN = "session_token"  # noqa: S105 - how the caller is known, not a token

TOOLSET = Toolset(
    "worker",
    "snake",
    "session_token",
    (
        Tool("authenticate", "login.authenticate", "Log in", sessions.LoginAnswer, sessions.login, aliases=("start_session",)),
        Tool("logout", "mine.logout", "Log out", sessions.EndAnswer, sessions.logged_out, caller=_TOKEN,
             aliases=("end_session",)),
        Tool("get_my_task", "mine.task", "Get my task", sessions.MyTaskAnswer, sessions.my_task, caller=_TOKEN),
        Tool("report_completed", "mine.report", "Report the task completed", sessions.EndAnswer, sessions.reported,
             caller=_TOKEN),
        Tool("save_context", "mine.save_context", "Save context", contexts.ContextAnswer, contexts.one, caller=_TOKEN),
        Tool("get_task_context", "mine.context", "Get the context of a task", contexts.ContextAnswer, contexts.one,
             caller=_TOKEN),
        Tool("create_handoff", "mine.hand_over", "Create a handoff", handoffs.HandoffAnswer, handoffs.one,
             names={"agent_id": "from_agent_id"}, without=("next_steps", "warnings"), caller=_TOKEN),
        Tool("accept_handoff", "mine.take_up", "Accept a handoff", handoffs.HandoffAnswer, handoffs.one, caller=_TOKEN),
        Tool("get_pending_handoffs", "mine.handoffs", "Get pending handoffs", handoffs.HandoffsAnswer, handoffs.many,
             caller=_TOKEN),
        Tool("list_agents", "mine.colleagues", "List the agents of the project", agents.AgentsAnswer, agents.many,
             without=("project_id",), caller=_TOKEN),
        Tool("get_agent_profile", "mine.colleague", "Get the profile of an agent", agents.AgentAnswer, agents.one,
             caller=_TOKEN),
        Tool("report_result", "mine.report_run", "Report the result of a run", executions.RegisteredAnswer,
             executions.registered,
             names={"run": "agentId", "edited_files": "editedFiles", "created_files": "createdFiles",
                    "error_message": "errorMessage"},
             caller=_TOKEN),
        Tool("get_pending_tasks", "mine.open_tasks", "Get pending tasks (deprecated)", tasks.PendingTasksAnswer,
             tasks.pending, caller=_TOKEN, aliases=("get_my_tasks",)),
        Tool("report_execution_start", "mine.start_record", "Report that execution starts (deprecated)",
             executions.StartedAnswer, executions.started, caller=_TOKEN),
        Tool("report_execution_complete", "mine.complete_record", "Report that execution is complete (deprecated)",
             executions.CompletedAnswer, executions.completed, caller=_TOKEN),
    ),
)  # fmt: skip
