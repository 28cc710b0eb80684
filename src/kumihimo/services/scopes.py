"""Scopes: what a run on a task may write, and which runs must not be under way together."""

from __future__ import annotations

from kumihimo.domain.agent import Agent, Scope
from kumihimo.domain.execution import Execution
from kumihimo.domain.task import Task
from kumihimo.store.store import Transaction


def scope_of(task: Task, agent: Agent) -> Scope:
    """The task's own word first, for each of the two."""
    return Scope(task.scope.write or agent.scope.write, task.scope.exclude or agent.scope.exclude)


def overlapping(transaction: Transaction, run: Execution) -> Execution | None:
    """A run under way that may write what this one may. Only who has declared what it writes is kept apart."""
    # Here, and not above: doors start with this module, and few ever start a run.
    from kumihimo.engine.worktrees.scope import overlap

    mine = _declared(transaction, run)
    if not mine or run.project_id is None:
        return None
    # Two that look at once must see each other: whoever comes second waits for what the first decides.
    transaction.projects.lock(run.project_id)
    for other in transaction.executions.running_workers(run.project_id):
        if other.id != run.id and overlap(mine, _declared(transaction, other)):
            return other
    return None


def undeclared_beside(transaction: Transaction, run: Execution) -> list[Execution]:
    """Runs under way that may write anything while this one does: nothing keeps them apart, because one of the two has not
    declared what it writes."""
    if run.project_id is None:
        return []
    mine = _declared(transaction, run)
    others = transaction.executions.running_workers(run.project_id)
    return [other for other in others if other.id != run.id and not (mine and _declared(transaction, other))]


def _declared(transaction: Transaction, run: Execution) -> tuple[str, ...]:
    """What was declared for it when its place was made: the settings have a word in that, which only who makes places reads.
    Of a run that has no place of its own, what the board knows."""
    if run.writes:
        return run.writes
    task = transaction.tasks.get(run.task_id) if run.task_id else None
    agent = transaction.agents.get(run.agent_id)
    return scope_of(task, agent).write if task and agent else ()
