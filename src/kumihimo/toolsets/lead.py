"""`lead`: for an AI or a person in an editor who starts agents, follows them and waits for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kumihimo.settings import Language
from kumihimo.toolsets.camel import groups, roles, runs
from kumihimo.toolsets.toolset import Presenter, Tool, Toolset


def _shown(make: Callable[[Any], Any]) -> Presenter:
    """These answers are the same in every language."""

    def present(value: Any, _: Language) -> Any:
        return make(value)

    return present


_RUN = {"run": "agentId"}
_GROUP = {"group": "groupId"}

TOOLSET = Toolset(
    "lead",
    "lead",
    "owner",
    (
        Tool("create_group", "group.create", "Create a group", groups.GroupAnswer, _shown(groups.group),
             without=("host",)),
        Tool("delete_group", "group.delete", "Delete a group", groups.DeletedAnswer, _shown(groups.deleted), names=_GROUP),
        Tool("run_agents", "group.run", "Run agents at once", groups.StartedAnswer, _shown(groups.started), names=_GROUP,
             without=("host",)),
        Tool("run_sequential", "group.plan", "Run agents stage by stage", groups.StagedAnswer, _shown(groups.staged),
             names={**_GROUP, "on_failure": "onFailure"}, without=("host",)),
        Tool("list_agents", "run.list", "List agents", runs.ListedAnswer, _shown(runs.listed), names=_GROUP,
             without=("limit", "cursor", "role", "project", "since", "until")),
        Tool("get_agent_status", "run.show", "Get the status of an agent", runs.AgentAnswer, _shown(runs.agent), names=_RUN),
        Tool("wait_agent", "run.wait", "Wait for agents", runs.WaitedAnswer, _shown(runs.waited),
             names={"runs": "agentIds"}),
        Tool("report_result", "run.report", "Report a result", runs.RegisteredAnswer, _shown(runs.registered),
             names={**_RUN, "edited_files": "editedFiles", "created_files": "createdFiles",
                    "error_message": "errorMessage"}),
        Tool("list_roles", "role.list", "List roles", roles.RolesAnswer, _shown(roles.roles)),
        Tool("cancel_agent", "run.stop", "Cancel an agent", runs.StoppedAnswer, _shown(runs.stopped), names=_RUN,
             without=("now",)),
        Tool("continue_agent", "run.continue", "Continue an agent's conversation", runs.StartedAgent,
             _shown(runs.begun), names=_RUN),
        Tool("get_agent_output", "run.output", "Get the output of an agent", runs.OutputAnswer, _shown(runs.output),
             names=_RUN),
    ),
)  # fmt: skip
