"""Workplaces: the worktrees of a project, as the board knows who holds them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import ExecutionNotFound, WorktreeHeld
from kumihimo.domain.execution import Execution
from kumihimo.domain.project import Project
from kumihimo.domain.session import Process
from kumihimo.engine.processes import identity
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.worktree import Worktree
from kumihimo.engine.worktrees.worktrees import Worktrees
from kumihimo.services.assignments import WORKTREES
from kumihimo.services.board import Board

_PROCESS = "process:"


class Workplace(msgspec.Struct, frozen=True):
    """A worktree that was made ready. `directory` is where the agent works in it: the project may be a part of a repository."""

    worktree: Worktree
    directory: Path
    base: str


def open_worktrees(project: Project) -> Worktrees:
    """GitError where the project is no repository."""
    folder = Path(project.working_directory)
    return Worktrees(Repository.open(folder), folder / WORKTREES)


def task_name(project: Project, number: int) -> str:
    """What the worktree of a task is called. Several projects may be parts of one repository, and each counts its tasks."""
    folder = Path(project.working_directory)
    whole = folder.resolve() == Repository.open(folder).top
    return f"task-{number}" if whole else f"task-{number}-{project.id}"


def held_elsewhere(board: Board, project: Project, name: str, host_id: str) -> bool:
    """Whether a run of another host has it, in a folder that hosts share."""
    holder = open_worktrees(project).holder(name)
    if holder is None or not holder.startswith("exec_"):
        return False
    try:
        return board.executions.show(holder).host_id not in (None, host_id)
    except ExecutionNotFound:
        return False


def require_free(board: Board, worktrees: Worktrees, name: str) -> None:
    """WorktreeHeld while what was done in it is looked at or merged. A run that works in it is for others to judge."""
    holder = worktrees.holder(name)
    if holder is None or not lives(board)(holder):
        return
    if holder.startswith(_PROCESS) or not board.executions.show(holder).live:
        raise WorktreeHeld(name, holder)


def make(board: Board, project: Project, name: str, branch: str, *, holder: str, scope: Scope) -> Workplace:
    """The worktree of that name on what the checkout has now, or as the last one in it left it."""
    worktrees = open_worktrees(project)
    repository = worktrees.repository
    base = repository.commit_of(repository.target())
    made = worktrees.create(name, branch, base, holder=holder, scope=scope, live=lives(board))
    inside = Path(project.working_directory).resolve().relative_to(repository.top)
    return Workplace(made, made.path / inside, made.base or base)


def lives(board: Board) -> Callable[[str], bool]:
    """Whether a holder may still need what it holds: a run until its traces were looked at, a process until it is dead."""

    def alive(holder: str) -> bool:
        if holder.startswith(_PROCESS):
            return not identity.proven_dead(msgspec.json.decode(holder.removeprefix(_PROCESS), type=Process))
        try:
            run = board.executions.show(holder)
        except ExecutionNotFound:
            # An instance of a Runner; else made for a run that was never asked for, or in another database.
            return board.instances.alive(holder)
        # What never began has left nothing to look at.
        return run.live or (run.unverified and run.started_at is not None)

    return alive


@contextmanager
def held(board: Board, worktrees: Worktrees, name: str) -> Generator[None]:
    """This process has it meanwhile: no run begins in it, and nobody removes it."""
    holder = _PROCESS + msgspec.json.encode(identity.current()).decode()
    worktrees.hold(name, holder, lives(board))
    try:
        yield
    finally:
        worktrees.release(name, holder)


def name_of(run: Execution) -> str:
    """The name of the worktree that a run worked in."""
    return Path(run.worktree or "").name


def release(project: Project, run: Execution) -> None:
    """A run needs its worktree no longer. What has been removed meanwhile needs no release."""
    if run.worktree is not None and Path(project.working_directory).is_dir():
        open_worktrees(project).release(name_of(run), run.id)
