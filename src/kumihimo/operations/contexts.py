"""Contexts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.domain.context import ContextEntry, ContextKind
from kumihimo.domain.errors import AgentNotFound, InvalidValue, TaskNotFound
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.operations.projects import AgentName
from kumihimo.operations.tasks import TaskName
from kumihimo.services.contexts import TaskContext

Author = Annotated[AgentName | None, Meta(description="The agent that says so.")]


class ShowContext(Arguments, frozen=True):
    task: TaskName
    history: Annotated[bool, Meta(description="Also everything that was ever saved.")] = False


class SaveContext(Arguments, frozen=True):
    task: TaskName
    progress: Annotated[str | None, Meta(description="How far the work is.")] = None
    findings: Annotated[str | None, Meta(description="What was found out.")] = None
    blockers: Annotated[str | None, Meta(description="What stands in the way.")] = None
    next_steps: Annotated[str | None, Meta(description="What to do next.")] = None
    agent: Author = None


class AddContext(Arguments, frozen=True):
    task: TaskName
    content: Annotated[str, Meta(description="The entry.")]
    type: Annotated[ContextKind, Meta(description="Which kind of entry it is.")] = "note"
    agent: Author = None


@operation("context.show", ShowContext, TaskContext, TaskNotFound, reads=True)
def show(call: Call, arguments: ShowContext) -> TaskContext:
    """What is known about the state of a task: progress, findings, blockers, next steps, and notes."""
    return call.board.contexts.show(call.place, arguments.task, history=arguments.history)


@operation("context.save", SaveContext, TaskContext, TaskNotFound, AgentNotFound, InvalidValue)
def save(call: Call, arguments: SaveContext) -> TaskContext:
    """Write down the state of a task. What is not given stays as it was last said."""
    return call.board.contexts.save(
        call.place,
        arguments.task,
        progress=arguments.progress,
        findings=arguments.findings,
        blockers=arguments.blockers,
        next_steps=arguments.next_steps,
        agent=arguments.agent,
    )


@operation("context.add", AddContext, ContextEntry, TaskNotFound, AgentNotFound, InvalidValue)
def add(call: Call, arguments: AddContext) -> ContextEntry:
    """Note one thing about a task."""
    return call.board.contexts.add(call.place, arguments.task, arguments.content, arguments.type, arguments.agent)


OPERATIONS = (show, save, add)
