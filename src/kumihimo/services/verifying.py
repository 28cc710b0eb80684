"""Verifying: look at what a run left behind, run its checks, and write the proof. Slow: it is done beside everything else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from kumihimo import __version__
from kumihimo.domain.errors import GitError
from kumihimo.domain.evidence import Evidence, MergedBy
from kumihimo.domain.execution import Execution
from kumihimo.domain.project import Project
from kumihimo.domain.proof import CheckResult, Commit, DiffStat, PathChange, Proof
from kumihimo.engine.processes.checks import run_checks
from kumihimo.engine.processes.proofs import read_proof, write_proof
from kumihimo.engine.worktrees.git import printable
from kumihimo.engine.worktrees.state import State
from kumihimo.engine.worktrees.worktree import Worktree
from kumihimo.engine.worktrees.worktrees import Worktrees
from kumihimo.services import workplaces
from kumihimo.services.board import Board
from kumihimo.services.definitions import defined
from kumihimo.services.scopes import scope_of
from kumihimo.services.working import checks_of
from kumihimo.settings import Settings

Mask = Callable[[bytes], bytes]


class Verification:
    """The settings are those of the run's own project. `stop` is asked whether to leave it to the next time."""

    def __init__(
        self,
        board: Board,
        settings: Settings,
        *,
        secrets: tuple[bytes, ...] = (),
        mask: Mask | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self._board = board
        self._settings = settings
        self._secrets = secrets
        self._mask = mask
        self._stop = stop

    def verify(self, run: Execution) -> Evidence | None:
        """Look at it, decide what follows, and keep the proof. None where somebody wants it left for later."""
        board = self._board
        project = None if run.project_id is None else board.projects.show(run.project_id)
        evidence = self.look(run, project)
        if self._stop is not None and self._stop():
            return None
        board.evidence.verify(run.id, evidence)
        self.keep_proof(run.id)
        if project is not None:
            self._release(project, run)
        return evidence

    def look(self, run: Execution, project: Project | None) -> Evidence:
        """The facts, as they are now."""
        found = Evidence(run.id, run.base, None, self._board.clock(), checks_skipped=run.skip_checks)
        if run.worktree is not None and project is not None and Path(run.worktree).is_dir():
            found = self._in_git(run, project, found)
        return msgspec.structs.replace(found, checks=tuple(self._check(run)))

    def keep_proof(self, execution_id: str) -> Proof:
        proof = make_proof(self._board, execution_id)
        write_proof(folder_of(self._settings, execution_id), proof, self._secrets)
        return proof

    def _in_git(self, run: Execution, project: Project, found: Evidence) -> Evidence:
        worktrees = workplaces.open_worktrees(project)
        worktree = worktrees.find(workplaces.name_of(run))
        if worktree is None:
            return found
        target = worktrees.repository.target()
        base = _start(worktrees, worktree, worktree.base or run.base or target, target)
        state = worktrees.examine(worktree, target)
        diff = worktrees.diff(worktree, base)
        files = tuple(
            PathChange(printable(file.path), file.status, file.insertions, file.deletions) for file in diff.files
        )
        commits = tuple(Commit(commit.id, commit.subject) for commit in diff.commits)
        return msgspec.structs.replace(
            found,
            base=base,
            head=worktree.head,
            commits=commits,
            diffstat=DiffStat.of(files),
            uncommitted=tuple(map(printable, _uncommitted(state))),
            violations=self._violations(worktrees, worktree, base, run),
            merged=_merged(state.merged, commits),
        )

    def _violations(self, worktrees: Worktrees, worktree: Worktree, base: str, run: Execution) -> tuple[str, ...]:
        agent = defined(self._board.agents.show(run.agent_id), self._settings)
        if run.task_id is None:
            return tuple(map(printable, worktrees.violations(worktree, base, agent.scope)))
        task = self._board.workers.view(run.id).task
        return tuple(map(printable, worktrees.violations(worktree, base, scope_of(task, agent))))

    def _check(self, run: Execution) -> list[CheckResult]:
        """Nobody asks for checks of what failed anyway."""
        if run.skip_checks or run.task_id is None or not run.succeeded:
            return []
        folder = Path(run.working_directory or "")
        worker = self._board.workers.view(run.id)
        return self.run_checks(checks_of(worker.task, worker.agent, self._settings), folder)

    def run_checks(self, commands: tuple[str, ...], folder: Path) -> list[CheckResult]:
        seconds = self._settings.check_timeout_ms / 1000
        return run_checks(commands, folder, seconds=seconds, stop=self._stop, mask=self._mask)

    def _release(self, project: Project, run: Execution) -> None:
        try:
            workplaces.release(project, run)
        except GitError:
            # The repository is gone or broken; who looks at its worktrees next says so.
            return


def make_proof(board: Board, execution_id: str) -> Proof:
    """Everything that is known of a run, put together anew."""
    sight = board.executions.sight(execution_id)
    run = sight.execution
    found = board.evidence.of(run.id)
    evidence = found or Evidence(run.id, run.base, None, board.clock())
    return Proof(
        run=run.id,
        task=run.task_id,
        agent=sight.role,
        client=run.client,
        model=run.model,
        prompt_sha256=hashlib.sha256(run.prompt.encode("utf-8", "surrogatepass")).hexdigest(),
        base=evidence.base,
        head=evidence.head,
        commits=evidence.commits,
        diffstat=evidence.diffstat,
        scope_violations=evidence.violations,
        checks=evidence.checks,
        checks_skipped=run.skip_checks,
        exit_code=run.exit_code,
        signal=run.signal,
        status=run.status,
        failure_reason=run.failure_reason,
        usage=sight.seen.usage,
        report=run.report,
        started_at=run.started_at,
        ended_at=run.ended_at,
        made_at=board.clock(),
        version=__version__,
    )


def proof_of(board: Board, settings: Settings, execution_id: str) -> Proof:
    """The proof that was kept when the run was looked at; of one that was not, what is known now."""
    run = board.executions.show(execution_id)
    kept = None if run.live or run.unverified else read_proof(folder_of(settings, run.id))
    return kept or make_proof(board, run.id)


def folder_of(settings: Settings, execution_id: str) -> Path:
    return settings.state_folder / "runs" / execution_id


def _uncommitted(state: State) -> tuple[str, ...]:
    return (*state.staged, *state.modified, *state.deleted, *state.unmerged, *state.untracked)


def _start(worktrees: Worktrees, worktree: Worktree, base: str, target: str) -> str:
    """Where its own work begins: what others brought to the target, and it has taken in since, is not its doing."""
    git, head = worktrees.repository.git, worktree.head
    fork = git.maybe("merge-base", head, target) if head is not None else None
    if fork is None or fork == head or not git.says("merge-base", "--is-ancestor", base, fork):
        return base
    return fork


def _merged(merged: MergedBy | None, commits: tuple[Commit, ...]) -> MergedBy | None:
    """A branch without a commit of its own has arrived nowhere."""
    return merged if commits else None
