"""A wish: a run that somebody asks for, before it is written down."""

from __future__ import annotations

import msgspec

from kumihimo.domain.agent import Agent
from kumihimo.domain.execution import Origin
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
