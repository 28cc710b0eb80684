"""Travelling: what was done on one host goes to the others by the remote of the project, and is merged where somebody asks."""

from __future__ import annotations

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import GitError, NothingToMerge
from kumihimo.domain.evidence import Evidence
from kumihimo.domain.execution import Execution
from kumihimo.domain.project import Project
from kumihimo.engine.worktrees.travelling import fetch, push, remote_of
from kumihimo.engine.worktrees.worktree import Worktree
from kumihimo.engine.worktrees.worktrees import Worktrees
from kumihimo.services import workplaces
from kumihimo.services.board import Board
from kumihimo.services.host_name import known_host_id
from kumihimo.services.merge_result import Candidate
from kumihimo.settings import Settings


def send_branch(board: Board, project: Project | None, run: Execution, evidence: Evidence) -> str | None:
    """Put the branch of a run on the remote of its project, where there is one, and other hosts that may want it. Answers why
    it is not there: that is in nobody's way, for here it can be merged all the same."""
    if project is None or run.branch is None or not evidence.commits or len(board.hosts.list()) < 2:
        return None
    try:
        repository = workplaces.open_worktrees(project).repository
        remote = remote_of(repository)
        if remote is not None:
            push(repository, remote, run.branch)
    except GitError as error:
        return str(error)
    return None


def bring_worktree(board: Board, settings: Settings, worktrees: Worktrees, candidate: Candidate) -> Worktree | None:
    """The worktree of a run whose folder is not here, made from its branch: of a run of another host from the one on the
    remote, of a run of this host, whose folder somebody has deleted, from the one that is left. None where there is none.
    NothingToMerge where the branch of another host is not to be had."""
    run = candidate.run
    if run.branch is None:
        return None
    if run.host_id is None or run.host_id == known_host_id(settings.state_folder):
        if worktrees.repository.find(f"refs/heads/{run.branch}") is None:
            return None
    else:
        _fetch(board, worktrees, candidate, run.branch)
    name = workplaces.name_of(run)
    made = workplaces.make(board, candidate.project, name, run.branch, holder=run.id, scope=Scope())
    worktrees.release(name, run.id)
    return made.worktree


def _fetch(board: Board, worktrees: Worktrees, candidate: Candidate, branch: str) -> None:
    repository = worktrees.repository
    try:
        remote = remote_of(repository)
        found = remote is not None and fetch(repository, remote, branch)
        reason = "" if found else _unpushed(board, candidate) or "it is not on the remote of the project"
    except GitError as error:
        found, reason = False, str(error)
    # What was fetched before is as good where the remote can't be asked.
    if not found and repository.find(f"refs/heads/{branch}") is None:
        host = board.hosts.called(candidate.run.host_id or "")
        raise NothingToMerge(candidate.name, "branch_elsewhere", branch=branch, host=host, reason=reason)


def _unpushed(board: Board, candidate: Candidate) -> str | None:
    known = board.evidence.of(candidate.run.id)
    return known.unpushed if known is not None else None
