"""The rules that hold a task back: what must be so before work begins, and before it is done."""

from __future__ import annotations

from collections.abc import Sequence

from kumihimo.domain.errors import ProjectArchived, TaskNotReady
from kumihimo.domain.execution import Execution
from kumihimo.domain.project import Project
from kumihimo.domain.task import Task
from kumihimo.store.store import Transaction


def require_startable(transaction: Transaction, project: Project, task: Task) -> None:
    """The rules for work to begin: somebody of the project does it, and nothing it waits for is open."""
    if project.status == "archived":
        raise ProjectArchived(project.name)
    if task.assignee_id is None:
        raise TaskNotReady(task.number, "no_assignee")
    assignee = transaction.agents.get(task.assignee_id)
    assert assignee is not None, "an assignee is a foreign key"
    if assignee.id not in project.agent_ids:
        raise TaskNotReady(task.number, "assignee_not_in_project", agent=assignee.name, project=project.name)
    if assignee.status != "active":
        raise TaskNotReady(task.number, "assignee_not_active", agent=assignee.name, state=assignee.status)
    waiting = transaction.tasks.open_dependencies(task.id)
    if waiting:
        raise TaskNotReady(task.number, "dependencies_open", tasks=_numbers(waiting))


def require_finishable(transaction: Transaction, task: Task, *, forced: bool) -> None:
    """The rules for done: subtasks are over, and checks, where there are any, have passed or are overruled."""
    open_subtasks = transaction.tasks.open_subtasks(task.id)
    if open_subtasks:
        raise TaskNotReady(task.number, "subtasks_open", tasks=_numbers(open_subtasks))
    if forced:
        return
    run = transaction.executions.latest_with_branch(task.id)
    if run is not None and run.dod_result == "merged":
        # It was merged because nothing spoke against it.
        return
    if run is not None and _left_work(transaction, run):
        raise TaskNotReady(task.number, "not_merged", branch=run.branch)
    checks = effective_checks(transaction, task)
    if checks and not _proven(transaction, task):
        raise TaskNotReady(task.number, "checks_open", checks="; ".join(checks))


def waits_for_subtasks_alone(transaction: Transaction, task: Task) -> bool:
    """Whether a success was reported that was looked at, and merged where it has a branch: what is below it holds it back."""
    run = transaction.executions.get(task.claimed_by) if task.claimed_by else None
    if task.status != "in_progress" or run is None or run.live or run.unverified or not run.succeeded:
        return False
    return run.branch is None or run.dod_result == "merged"


def _left_work(transaction: Transaction, run: Execution) -> bool:
    """Whether something may be on its branch: what was not looked at yet may hold anything."""
    found = transaction.evidence.get(run.id)
    return found is None or bool(found.commits or found.uncommitted)


def _proven(transaction: Transaction, task: Task) -> bool:
    """Whether the run that says it has done the task was looked at, with checks, and nothing spoke against it."""
    found = transaction.evidence.get(task.claimed_by) if task.claimed_by else None
    return found is not None and bool(found.checks) and found.passed


def effective_checks(transaction: Transaction, task: Task) -> tuple[str, ...]:
    """The definition of done: the task's own, else its agent's."""
    if task.dod or task.assignee_id is None:
        return task.dod
    assignee = transaction.agents.get(task.assignee_id)
    return assignee.dod if assignee else ()


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(f"#{value}" for value in numbers)
