"""Putting a worker to work: its place is made, and then it may begin."""

from __future__ import annotations

from pathlib import Path

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import GitError, SessionAlreadyRunning, StartFailed
from kumihimo.domain.task import Task
from kumihimo.services import briefs, workplaces
from kumihimo.services.board import Board
from kumihimo.services.definitions import defined
from kumihimo.services.projects import Place
from kumihimo.services.workers import Request, Worker
from kumihimo.services.workplaces import Workplace, open_worktrees
from kumihimo.settings import Settings


def checks_of(task: Task, agent: Agent, settings: Settings) -> tuple[str, ...]:
    """The definition of done: the task's own, else its agent's."""
    return task.dod or defined(agent, settings).dod


def prepare(board: Board, settings: Settings, place: Place, request: Request, *, worktree: bool = True) -> Worker:
    """A worker whose place is ready. What can be refused is refused before anything is written or made."""
    task = board.tasks.get(place, request.task)
    project = board.projects.show(task.project_id)
    if worktree:
        worktrees = open_worktrees(project)
        worktrees.repository.target()
        workplaces.require_free(board, worktrees, workplaces.task_name(project, task.number))
    elif not Path(project.working_directory).is_dir():
        raise StartFailed("no_such_folder", folder=project.working_directory)
    worker = board.workers.open(place, request)
    if worker.execution.status != "planned":
        return worker
    try:
        workplace = _workplace(board, settings, worker) if worktree else None
    except GitError as error:
        board.workers.give_up(worker.execution.id, str(error))
        raise
    ready = _ready(board, settings, worker, workplace)
    if ready.execution.status == "cancelled":
        # Somebody wanted another kind of worker meanwhile, and this one had not begun.
        raise SessionAlreadyRunning(ready.task.number, None)
    return ready


def _workplace(board: Board, settings: Settings, worker: Worker) -> Workplace:
    name = workplaces.task_name(worker.project, worker.task.number)
    branch = f"{name}-s{worker.execution.number}"
    scope = worker.scope_with(defined(worker.agent, settings))
    return workplaces.make(board, worker.project, name, branch, holder=worker.execution.id, scope=scope)


def _ready(board: Board, settings: Settings, worker: Worker, workplace: Workplace | None) -> Worker:
    agent = defined(worker.agent, settings)
    branch = workplace.worktree.branch if workplace else None
    known = board.workers.knowledge(worker.task.id)
    prompt = briefs.compose(
        worker.task, known, worker.scope_with(agent), checks_of(worker.task, agent, settings), branch
    )
    if workplace is None:
        return board.workers.ready(
            worker.execution.id, prompt=prompt, working_directory=worker.project.working_directory
        )
    return board.workers.ready(
        worker.execution.id,
        prompt=prompt,
        working_directory=str(workplace.directory),
        branch=branch,
        worktree=str(workplace.worktree.path),
        base=workplace.base,
    )
