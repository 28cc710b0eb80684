"""Putting a worker to work: its place is made, and then it may begin."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import GitError, SessionAlreadyRunning, StartFailed, WorktreeHeld
from kumihimo.domain.execution import Execution
from kumihimo.domain.project import Project
from kumihimo.domain.task import Task
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.services import briefs, workplaces
from kumihimo.services.board import Board
from kumihimo.services.definitions import defined
from kumihimo.services.host_name import host_id
from kumihimo.services.projects import Place
from kumihimo.services.settling import begun_before
from kumihimo.services.workers import Request, Worker
from kumihimo.services.workplaces import Workplace, open_worktrees
from kumihimo.settings import Settings


def checks_of(task: Task, agent: Agent, settings: Settings) -> tuple[str, ...]:
    """The definition of done: the task's own, else its agent's."""
    return task.dod or defined(agent, settings).dod


def prepare(board: Board, settings: Settings, place: Place, request: Request, *, worktree: bool = True) -> Worker:
    """A worker whose place is ready, or is going to be made by the host that it is for. What can be refused is refused before
    anything is written or made."""
    task = board.tasks.get(place, request.task)
    project = board.projects.show(task.project_id)
    here = host_id(settings.state_folder)
    wanted = request.host or task.host
    other = board.hosts.elsewhere(here, wanted, project.id) if _goes_away(project, request, wanted) else None
    if other is not None:
        worker = board.workers.open(place, replace(request, host=other.id))
        # In a worktree it waits until its host has made one; in the project's folder it may begin.
        return (
            worker if worktree or worker.execution.status != "planned" else _ready(board, settings, worker, None, here)
        )
    if worktree:
        worktrees = open_worktrees(project)
        worktrees.repository.target()
        workplaces.require_free(board, worktrees, workplaces.task_name(project, task.number))
    elif not Path(project.working_directory).is_dir():
        raise StartFailed("no_such_folder", folder=project.working_directory)
    # By its id a host is asked to make the place; this one is made here and now.
    worker = board.workers.open(place, replace(request, host=None if wanted == here else wanted))
    if worker.execution.status != "planned":
        return worker
    if worker.execution.attempt and board.retries.take(worker.execution.id, here) is None:
        # A run that follows another one: its place is made elsewhere.
        return worker
    return make_place(board, settings, worker, here, worktree=worktree)


def make_place(board: Board, settings: Settings, worker: Worker, here: str, *, worktree: bool = True) -> Worker:
    """The place of a planned worker, on this host. WorktreeHeld where a run that follows another comes too early for it: what
    that one left is being looked at, or its agent is being ended."""
    run = worker.execution
    try:
        workplace = _workplace(board, settings, worker, here) if worktree else None
    except GitError as error:
        if not (run.attempt and isinstance(error, WorktreeHeld)):
            board.workers.give_up(run.id, str(error), here)
        raise
    ready = _ready(board, settings, worker, workplace, here)
    if ready.execution.status == "cancelled":
        # Somebody wanted another kind of worker meanwhile, and this one had not begun.
        raise SessionAlreadyRunning(ready.task.number, None)
    return ready


def _goes_away(project: Project, request: Request, wanted: str | None) -> bool:
    """Whether it may be for another host: it was said so, or there is no such folder here. A command to paste is for here."""
    return request.kind == "worker" and (wanted is not None or not Path(project.working_directory).is_dir())


def _workplace(board: Board, settings: Settings, worker: Worker, here: str) -> Workplace:
    name = workplaces.task_name(worker.project, worker.task.number)
    branch = f"{name}-s{worker.execution.number}"
    before = _before(board, worker)
    if before is not None and before.host_id == here and before.worktree is not None:
        name = workplaces.name_of(before)
        if _at_work(settings, before):
            raise WorktreeHeld(name, before.id)
    elif before is not None and workplaces.held_elsewhere(board, worker.project, name, here):
        # An agent of a host that is gone may still be at work there.
        name = branch
    scope = worker.scope_with(defined(worker.agent, settings))
    return workplaces.make(board, worker.project, name, branch, holder=worker.execution.id, scope=scope)


def _before(board: Board, worker: Worker) -> Execution | None:
    """The run that a retry follows."""
    run = worker.execution
    return board.executions.show(run.previous_id) if run.attempt and run.previous_id else None


def _at_work(settings: Settings, run: Execution) -> bool:
    """Whether something of a run of this host that is over on the board still lives: it was given up while we were away."""
    return not RunFolder(settings.state_folder / "runs" / run.id).is_over()


def _ready(board: Board, settings: Settings, worker: Worker, workplace: Workplace | None, here: str) -> Worker:
    agent = defined(worker.agent, settings)
    branch = workplace.worktree.branch if workplace else None
    known = board.workers.knowledge(worker.task.id)
    scope = worker.scope_with(agent)
    prompt = briefs.compose(worker.task, known, scope, checks_of(worker.task, agent, settings), branch)
    before = _before(board, worker)
    return board.workers.ready(
        worker.execution.id,
        prompt=begun_before(before, prompt) if before else prompt,
        working_directory=str(workplace.directory) if workplace else worker.project.working_directory,
        branch=branch,
        worktree=str(workplace.worktree.path) if workplace else None,
        base=workplace.base if workplace else None,
        writes=scope.write,
        host_id=here,
    )
