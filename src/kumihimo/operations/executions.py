"""Executions: the record of runs."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.domain.errors import AgentNotFound, ExecutionNotFound, InvalidValue, TaskNotFound
from kumihimo.domain.execution import Execution
from kumihimo.operations.agents import Cursor, Limit
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.operations.projects import AgentName
from kumihimo.operations.tasks import TaskName
from kumihimo.store.paging import Page

ExecutionName = Annotated[str, Meta(description="A run: its exec_ id or the beginning of that.")]


class ListExecutions(Arguments, frozen=True):
    task: TaskName | None = None
    agent: AgentName | None = None
    limit: Limit | None = None
    cursor: Cursor | None = None


class NameExecution(Arguments, frozen=True):
    execution: ExecutionName


@operation("execution.list", ListExecutions, Page[Execution], TaskNotFound, AgentNotFound, InvalidValue, reads=True)
def list_(call: Call, arguments: ListExecutions) -> Page[Execution]:
    """Runs, newest first: of a task, of an agent, or all."""
    task = call.board.tasks.show(call.place, arguments.task).task if arguments.task else None
    agent = call.board.agents.show(arguments.agent) if arguments.agent else None
    return call.board.executions.list(
        task_id=task.id if task else None,
        agent_id=agent.id if agent else None,
        limit=arguments.limit,
        cursor=arguments.cursor,
    )


@operation("execution.show", NameExecution, Execution, ExecutionNotFound, reads=True)
def show(call: Call, arguments: NameExecution) -> Execution:
    """One run and what came of it."""
    return call.board.executions.show(arguments.execution)


OPERATIONS = (list_, show)
