"""A wish: a run that somebody asks for, before it is written down."""

from __future__ import annotations

from datetime import datetime

import msgspec

from kumihimo.domain.agent import Agent
from kumihimo.domain.execution import Execution, Origin
from kumihimo.domain.task import Task


class Wish(msgspec.Struct, frozen=True):
    """A run that somebody asks for."""

    agent: Agent
    origin: Origin
    prompt: str = ""
    project_id: str | None = None
    task: Task | None = None
    group_id: str | None = None
    session_id: str | None = None
    client: str | None = None
    model: str | None = None
    working_directory: str | None = None
    timeout_ms: int | None = None
    numbered: bool = False
    stage: int | None = None
    # A run of a stage to come: it is queued when that one is reached.
    planned: bool = False
    previous_id: str | None = None
    conversation: str | None = None
    # A worktree that was made for it before it was asked for, under the id that it will have.
    id: str | None = None
    branch: str | None = None
    worktree: str | None = None
    base: str | None = None
    auto: bool = False
    skip_checks: bool = False
    # Where it is to be run: the name, the id or a label of a host.
    host: str | None = None
    # Which retry of a run on its task.
    attempt: int = 0
    # What it may write, where its place is there already.
    writes: tuple[str, ...] = ()

    def as_run(self, identifier: str, number: int | None, at: datetime) -> Execution:
        """What is written down of it."""
        return Execution(
            id=identifier,
            number=number,
            project_id=self.task.project_id if self.task else self.project_id,
            task_id=self.task.id if self.task else None,
            agent_id=self.agent.id,
            group_id=self.group_id,
            session_id=self.session_id,
            origin=self.origin,
            client=self.client or self.agent.client,
            model=self.model or self.agent.model,
            prompt=self.prompt,
            working_directory=self.working_directory,
            timeout_ms=self.timeout_ms,
            status="planned" if self.planned else "queued",
            queued_at=at,
            stage=self.stage,
            previous_id=self.previous_id,
            conversation=self.conversation,
            branch=self.branch,
            worktree=self.worktree,
            base=self.base,
            auto=self.auto,
            skip_checks=self.skip_checks,
            unverified=self.worktree is not None or self.origin in ("worker", "instance"),
            host=self.host,
            attempt=self.attempt,
            writes=self.writes,
        )
