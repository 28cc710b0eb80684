"""Groups of runs, and what was started in them."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from kumihimo.domain.group import Group
from kumihimo.operations.groups import Deleted, GroupView, Planned, Started
from kumihimo.toolsets.camel.answer import Answer
from kumihimo.toolsets.camel.runs import ListedAgent, StartedAgent, listed_agent, started_agent


class GroupAnswer(Answer, frozen=True):
    group_id: str
    description: str
    mode: str
    created_at: datetime
    status: str
    total_stages: int | UnsetType = UNSET
    current_stage_index: int | UnsetType = UNSET
    host: str | UnsetType = UNSET


class GroupsAnswer(Answer, frozen=True):
    groups: list[GroupAnswer]


class DeletedAnswer(Answer, frozen=True):
    deleted: bool
    group_id: str


class StageAnswer(Answer, frozen=True):
    stage_index: int
    agent_ids: list[str]


class StagedAnswer(Answer, frozen=True):
    group_id: str
    total_stages: int
    current_stage_index: int
    stages: list[StageAnswer]
    agents: list[StartedAgent]
    total: int


class GroupDetailAnswer(GroupAnswer, frozen=True, kw_only=True):
    agents: list[ListedAgent]
    total: int


class StartedAnswer(Answer, frozen=True):
    agents: list[StartedAgent]
    total: int


def group(it: Group) -> GroupAnswer:
    return GroupAnswer(
        group_id=it.id,
        description=it.description,
        mode=it.mode,
        created_at=it.created_at,
        status=it.status,
        total_stages=UNSET if it.stages is None else it.stages,
        current_stage_index=UNSET if it.stage is None else it.stage,
        host=it.host or UNSET,
    )


def deleted(it: Deleted) -> DeletedAnswer:
    return DeletedAnswer(deleted=True, group_id=it.group.id)


def started(it: Started) -> StartedAnswer:
    agents = [started_agent(sight) for sight in it.runs]
    return StartedAnswer(agents=agents, total=len(agents))


def staged(it: Planned) -> StagedAnswer:
    stages: dict[int, list[str]] = {}
    for sight in it.runs:
        if sight.execution.stage is not None:
            stages.setdefault(sight.execution.stage, []).append(sight.execution.id)
    agents = [started_agent(sight) for sight in it.runs]
    return StagedAnswer(
        group_id=it.group.id,
        total_stages=it.group.stages or 0,
        current_stage_index=it.group.stage or 0,
        stages=[StageAnswer(stage_index=index, agent_ids=ids) for index, ids in sorted(stages.items())],
        agents=agents,
        total=len(agents),
    )


def group_detail(it: GroupView) -> GroupDetailAnswer:
    base = group(it.group)
    agents = [listed_agent(sight) for sight in it.runs]
    return GroupDetailAnswer(
        **{name: getattr(base, name) for name in base.__struct_fields__}, agents=agents, total=len(agents)
    )
