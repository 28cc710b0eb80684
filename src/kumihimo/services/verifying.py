"""Verifying: look at what a run left behind, run its checks, and write the proof. Slow: it is done beside everything else."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kumihimo import __version__
from kumihimo.domain.errors import ArtifactAway, GitError
from kumihimo.domain.evidence import Evidence, MergedBy
from kumihimo.domain.execution import Execution
from kumihimo.domain.project import Project
from kumihimo.domain.proof import CheckResult, Commit, DiffStat, PathChange, Proof
from kumihimo.engine.processes.capture import strike_out
from kumihimo.engine.processes.checks import run_checks
from kumihimo.engine.processes.proofs import (
    MOST_BYTES,
    NAME,
    ProofUnreadable,
    decode_proof,
    read_proof,
    write_proof,
)
from kumihimo.engine.processes.secrets import secrets_in
from kumihimo.engine.worktrees.git import Git, printable
from kumihimo.engine.worktrees.state import State
from kumihimo.engine.worktrees.worktree import Worktree
from kumihimo.engine.worktrees.worktrees import Worktrees
from kumihimo.services import workplaces
from kumihimo.services.artifacts import expect_deposit
from kumihimo.services.board import Board
from kumihimo.services.definitions import defined
from kumihimo.services.scopes import scope_of
from kumihimo.services.sights import Sight
from kumihimo.services.travelling import send_branch
from kumihimo.services.working import checks_of
from kumihimo.settings import Settings

# What git calls the steps of a worktree that made a commit.
_COMMITTING = ("commit", "cherry-pick", "rebase (pick)", "revert", "am")


class Verification:
    """The settings are those of the run's own project. `stop` is asked whether to leave it to the next time."""

    def __init__(
        self,
        board: Board,
        settings: Settings,
        *,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self._board = board
        self._settings = settings
        # A check may print what its environment holds.
        self._secrets = secrets_in(os.environ)
        self._stop = stop

    def verify(self, run: Execution) -> Evidence | None:
        """Look at it, keep the proof, and decide what follows. None where it is left for later, or somebody else did it.

        Two may want to at once, who ran it and the host: checks that run twice in one folder are in each other's way.
        """
        with _one_at_a_time(folder_of(self._settings, run.id) / "verify.lock", wait=self._stop is None) as free:
            return self._verify(run) if free and self._board.executions.show(run.id).unverified else None

    def _verify(self, run: Execution) -> Evidence | None:
        board = self._board
        project = None if run.project_id is None else board.projects.show(run.project_id)
        evidence = self.look(run, project)
        if self._stop is not None and self._stop():
            return None
        evidence = msgspec.structs.replace(evidence, unpushed=send_branch(board, project, run, evidence))
        # First the proof: who hears that it was looked at may ask for it at once.
        self.keep_proof(run.id, evidence)
        board.evidence.verify(run.id, evidence)
        if project is not None:
            self._release(project, run)
        return evidence

    def look(self, run: Execution, project: Project | None) -> Evidence:
        """The facts, as they are now."""
        found = Evidence(run.id, run.base, None, self._board.clock(), checks_skipped=run.skip_checks)
        if run.worktree is not None and project is not None and Path(run.worktree).is_dir():
            found = self._in_git(run, project, found)
        found = msgspec.structs.replace(found, checks=tuple(self._check(run)))
        return self.note_leavings(run, project, found) if found.checks else found

    def note_leavings(self, run: Execution, project: Project | None, found: Evidence) -> Evidence:
        """Tests and builds write caches and reports: what is there after the checks and was not before is theirs."""
        worktrees = workplaces.open_worktrees(project) if project is not None and run.worktree else None
        worktree = worktrees.find(workplaces.name_of(run)) if worktrees else None
        if worktrees is None or worktree is None or not worktree.path.is_dir():
            return found
        state = worktrees.examine(worktree, worktrees.repository.target())
        known = {*found.uncommitted, *found.left_by_checks}
        new = tuple(path for path in map(printable, state.untracked) if path not in known)
        return msgspec.structs.replace(found, left_by_checks=(*found.left_by_checks, *new))

    def keep_proof(self, execution_id: str, evidence: Evidence | None = None) -> Proof:
        return self.keep_proof_of(self._board.executions.sight(execution_id), evidence)

    def keep_proof_of(self, sight: Sight, evidence: Evidence | None = None) -> Proof:
        """As `keep_proof`, of a run as it was just seen."""
        proof, run = make_proof(self._board, sight, evidence), sight.execution.id
        write_proof(folder_of(self._settings, run), proof, self._secrets)
        expect_deposit(self._settings, run)
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
        left = _kept(self._left_before(run), map(printable, state.untracked))
        return msgspec.structs.replace(
            found,
            base=base,
            head=worktree.head,
            commits=commits,
            diffstat=DiffStat.of(tuple(file for file in files if file.path not in left)),
            uncommitted=_without(left, map(printable, _uncommitted(state))),
            violations=_without(left, self._violations(worktrees, worktree, base, run)),
            merged=_merged(state.merged, commits),
            left_by_checks=left,
        )

    def _left_before(self, run: Execution) -> set[str]:
        """What checks have left in its worktree until now, those of earlier runs on its task included."""
        runs = self._board.executions.list(task_id=run.task_id).items if run.task_id else [run]
        found = (self._board.evidence.of(one.id) for one in runs)
        return {path for evidence in found if evidence is not None for path in evidence.left_by_checks}

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

    def _mask(self, text: bytes) -> bytes:
        return strike_out(text, self._secrets)

    def _release(self, project: Project, run: Execution) -> None:
        try:
            workplaces.release(project, run)
        except GitError:
            # The repository is gone or broken; who looks at its worktrees next says so.
            return


def make_proof(board: Board, sight: Sight, found: Evidence | None = None) -> Proof:
    """Everything that is known of a run, put together anew."""
    run = sight.execution
    evidence = found or board.evidence.of(run.id) or Evidence(run.id, run.base, None, board.clock())
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
    """The proof that was kept when the run was over; else what is known now."""
    run = board.executions.show(execution_id)
    kept = (
        None if run.live or run.unverified else read_proof(folder_of(settings, run.id)) or _proof_elsewhere(board, run)
    )
    return kept or make_proof(board, board.executions.sight(run.id))


def _proof_elsewhere(board: Board, run: Execution) -> Proof | None:
    """Of a run of another host. Where that can't be asked, the board knows as much: there a proof is put together from."""
    if run.origin not in ("group", "worker"):
        return None
    try:
        found = board.artifacts.whole(run, NAME, MOST_BYTES)
        return None if found is None else decode_proof(found, run.id)
    except (ArtifactAway, ProofUnreadable):
        return None


def folder_of(settings: Settings, execution_id: str) -> Path:
    return settings.state_folder / "runs" / execution_id


def _kept(those: Collection[str], paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if path in those)


def _without(those: Collection[str], paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if path not in those)


def _uncommitted(state: State) -> tuple[str, ...]:
    return (*state.staged, *state.modified, *state.deleted, *state.unmerged, *state.untracked)


@contextmanager
def _one_at_a_time(file: Path, *, wait: bool) -> Generator[bool]:
    """Whether nobody else is in here with the same file; with `wait`, once that is so."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with file.open("ab") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _start(worktrees: Worktrees, worktree: Worktree, base: str, target: str) -> str:
    """Where its own work begins: what others brought to the target, and it has taken in since, is not its doing."""
    git, head = worktrees.repository.git, worktree.head
    fork = git.maybe("merge-base", head, target) if head is not None else None
    if head is None or fork is None or not git.says("merge-base", "--is-ancestor", base, fork):
        return base
    if fork == head:
        # All of it is in the target: because it was brought there, or because it came from there.
        return base if _made_something(worktree, base) else head
    return fork


def _made_something(worktree: Worktree, base: str) -> bool:
    """Whether anything was committed here since, by what git remembers of where the worktree stood."""
    steps = Git(worktree.path).names("log", "-g", "-z", "--format=%H%x1f%gs", "HEAD", "--")
    for step in steps:
        commit, how = step.split("\x1f", 1)
        if how.startswith(_COMMITTING):
            return True
        if commit == base:
            return False
    # Where git remembers nothing, what is there counts.
    return not steps


def _merged(merged: MergedBy | None, commits: tuple[Commit, ...]) -> MergedBy | None:
    """A branch without a commit of its own has arrived nowhere."""
    return merged if commits else None
