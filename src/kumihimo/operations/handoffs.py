"""Handoffs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.domain.errors import (
    AgentNotFound,
    ExecutionNotFound,
    HandoffAlreadyAccepted,
    HandoffNotFound,
    InvalidValue,
    PermissionDenied,
    TaskNotFound,
)
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.operations.projects import AgentName
from kumihimo.operations.tasks import TaskName
from kumihimo.services.handoffs import HandoffView

Giver = Annotated[AgentName, Meta(description="Who hands over.")]
Summary = Annotated[str, Meta(description="What was done and what is left.")]
Taker = Annotated[AgentName | None, Meta(description="Who is to take over; anybody in the project if left out.")]


class CreateHandoff(Arguments, frozen=True):
    """`from_run` fills in whatever is left out; without it a giver and a summary are needed."""

    task: TaskName
    from_agent: Giver | None = None
    summary: Summary | None = None
    to_agent: Taker = None
    context: Annotated[str | None, Meta(description="What one must know.")] = None
    recommendations: Annotated[str | None, Meta(description="What you would do.")] = None
    next_steps: Annotated[list[str], Meta(description="A step to take; may be repeated.")] = []  # noqa: RUF012
    warnings: Annotated[list[str], Meta(description="Something to beware of; may be repeated.")] = []  # noqa: RUF012
    from_run: Annotated[
        str | None, Meta(description="A run, live or over: what is left out is made from what it has left.")
    ] = None


class AcceptHandoff(Arguments, frozen=True):
    handoff: Annotated[str, Meta(description="A handoff: its hnd_ id or the beginning of that.")]
    agent: Annotated[AgentName, Meta(description="Who takes over.")]


class ListHandoffs(Arguments, frozen=True):
    agent: Annotated[AgentName | None, Meta(description="Only what this agent may accept.")] = None


@operation("handoff.create", CreateHandoff, HandoffView, TaskNotFound, AgentNotFound, ExecutionNotFound, InvalidValue)
def create(call: Call, arguments: CreateHandoff) -> HandoffView:
    """Leave a task for the next agent, with what it has to know."""
    if arguments.from_run is not None:
        return _from_run(call, arguments, arguments.from_run)
    if arguments.from_agent is None or arguments.summary is None:
        raise InvalidValue("from" if arguments.from_agent is None else "summary", "blank")
    return call.board.handoffs.create(
        call.place,
        arguments.task,
        from_agent=arguments.from_agent,
        to_agent=arguments.to_agent,
        summary=arguments.summary,
        context=arguments.context,
        recommendations=arguments.recommendations,
        next_steps=arguments.next_steps,
        warnings=arguments.warnings,
    )


def _from_run(call: Call, arguments: CreateHandoff, run: str) -> HandoffView:
    # Here, and not above: a door is often opened and seldom asked for this.
    from kumihimo.services.run_handoffs import create_from_run

    return create_from_run(
        call.board,
        call.place,
        run,
        task=arguments.task,
        from_agent=arguments.from_agent,
        to_agent=arguments.to_agent,
        summary=arguments.summary,
        context=arguments.context,
        recommendations=arguments.recommendations,
        next_steps=arguments.next_steps,
        warnings=arguments.warnings,
    )


@operation(
    "handoff.accept", AcceptHandoff, HandoffView,
    HandoffNotFound, AgentNotFound, HandoffAlreadyAccepted, PermissionDenied,
)  # fmt: skip
def accept(call: Call, arguments: AcceptHandoff) -> HandoffView:
    """Take up what was handed over. Who does the task does not change by it."""
    return call.board.handoffs.accept(arguments.handoff, arguments.agent)


@operation("handoff.list", ListHandoffs, list[HandoffView], AgentNotFound, reads=True)
def list_(call: Call, arguments: ListHandoffs) -> list[HandoffView]:
    """Handoffs that wait to be accepted, oldest first."""
    return call.board.handoffs.pending(place=call.place, agent=arguments.agent)


@operation("handoff.pending", ListHandoffs, list[HandoffView], AgentNotFound, reads=True)
def pending(call: Call, arguments: ListHandoffs) -> list[HandoffView]:
    """Handoffs of every project that wait to be accepted, oldest first."""
    return call.board.handoffs.pending(agent=arguments.agent)


OPERATIONS = (create, accept, list_, pending)
