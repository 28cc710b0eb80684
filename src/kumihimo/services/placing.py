"""Placing: runs of a group that each get a worktree of their own before they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from kumihimo.domain.errors import GitError, KumihimoError, StartFailed
from kumihimo.domain.execution import Execution
from kumihimo.domain.project import Project
from kumihimo.services import workplaces
from kumihimo.services.board import Board
from kumihimo.services.definitions import defined
from kumihimo.services.groups import Errand, Limits
from kumihimo.settings import Settings


def run_in_worktrees(
    board: Board,
    settings: Settings,
    project: Project,
    group: str,
    errands: Sequence[Errand],
    wanted: Sequence[bool],
    limits: Limits,
) -> list[Execution]:
    """As `groups.run`, with a worktree for those that want one. Where anything is refused, none of them is left behind."""
    board.groups.require_runnable(group, errands, limits)
    placed: list[Errand] = []
    try:
        for errand, wants in zip(errands, wanted, strict=True):
            placed.append(_place(board, settings, project, errand) if wants else errand)
        # One by one: what was made before something failed has to be known.
        return board.groups.run(group, placed, limits)
    except KumihimoError as error:
        _take_back(board, project, placed)
        if isinstance(error, GitError):
            raise StartFailed("no_worktree", reason=str(error)) from None
        raise


def _place(board: Board, settings: Settings, project: Project, errand: Errand) -> Errand:
    run = board.executions.identifiers.new("execution")
    agent = defined(board.agents.show(errand.role), settings)
    made = workplaces.make(board, project, run, f"run-{run}", holder=run, scope=agent.scope)
    # A folder inside the project is the same folder inside the worktree.
    inside = Path(errand.working_directory).resolve()
    root = Path(project.working_directory).resolve()
    folder = made.directory / inside.relative_to(root) if inside.is_relative_to(root) else made.directory
    return replace(
        errand,
        working_directory=str(folder),
        id=run,
        branch=made.worktree.branch,
        worktree=str(made.worktree.path),
        base=made.base,
    )


def _take_back(board: Board, project: Project, placed: Sequence[Errand]) -> None:
    """Nothing has happened in them."""
    for errand in placed:
        if errand.id is not None:
            worktrees = workplaces.open_worktrees(project)
            repository = worktrees.repository
            worktrees.release(errand.id, errand.id)
            if worktrees.remove(errand.id, repository.target(), live=workplaces.lives(board)).removed:
                repository.git.run("update-ref", "-d", f"refs/heads/{errand.branch}", errand.base or "")
