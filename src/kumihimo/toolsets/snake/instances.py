"""What a Runner is answered."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType

from kumihimo.domain.agent import CLIENTS
from kumihimo.operations.instances import Health, Work
from kumihimo.services.instances import Reported, Verdict
from kumihimo.settings import Language
from kumihimo.toolsets.snake.answer import Answer, Shape


class HealthAnswer(Struct, frozen=True, kw_only=True):
    status: str
    version: str
    timestamp: datetime


class VerdictAnswer(Struct, frozen=True, kw_only=True):
    should_start: bool
    ai_type: str | UnsetType = UNSET
    client: str | UnsetType = UNSET
    model: str | UnsetType = UNSET


class WorktreeShape(Shape, frozen=True):
    """Where to work: a worktree of this name in the project's `.kumi/worktrees`, on this branch."""

    name: str
    branch: str
    write: list[str]
    exclude: list[str]


class InstanceAnswer(Answer, frozen=True):
    instance_token: str | UnsetType = UNSET
    worktree: WorktreeShape | UnsetType = UNSET
    mcp_path: str | UnsetType = UNSET


class PairShape(Shape, frozen=True):
    agent_id: str
    project_id: str


class WorkAnswer(Answer, frozen=True):
    pairs: list[PairShape]
    timed_out: bool


def health(it: Health, _: Language) -> HealthAnswer:
    return HealthAnswer(status="ok", version=it.version, timestamp=it.at)


def verdict(it: Verdict, _: Language) -> VerdictAnswer:
    if not it.start or it.client is None:
        return VerdictAnswer(should_start=False)
    return VerdictAnswer(should_start=True, ai_type=CLIENTS[it.client], client=it.client, model=it.model or UNSET)


def instance(it: Reported, _: Language) -> InstanceAnswer:
    return InstanceAnswer(instance_token=it.token or UNSET, worktree=_worktree(it), mcp_path=it.door or UNSET)


def _worktree(it: Reported) -> WorktreeShape | UnsetType:
    name, branch = it.instance.worktree, it.instance.branch
    if it.token is None or name is None or branch is None:
        return UNSET
    return WorktreeShape(name=name, branch=branch, write=list(it.scope.write), exclude=list(it.scope.exclude))


def work(it: Work, _: Language) -> WorkAnswer:
    pairs = [PairShape(agent_id=pair.agent_id, project_id=pair.project_id) for pair in it.pairs]
    return WorkAnswer(pairs=pairs, timed_out=it.timed_out)
