"""Merging: the work of a run goes to the branch that it was meant for, if nothing speaks against it.

One at a time for each repository. What can't be merged goes back to its task with the reason, and is in nobody's way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from kumihimo.domain.errors import GitError, NotFastForward, NothingToMerge
from kumihimo.domain.evidence import Evidence, MergedBy
from kumihimo.domain.execution import Execution
from kumihimo.domain.proof import CheckResult
from kumihimo.engine.worktrees.git import printable
from kumihimo.engine.worktrees.locks import alone
from kumihimo.engine.worktrees.merging import Conflict, fast_forward, is_merged, rebase
from kumihimo.engine.worktrees.worktree import Worktree
from kumihimo.engine.worktrees.worktrees import Worktrees
from kumihimo.services import workplaces
from kumihimo.services.board import Board
from kumihimo.services.evidences import listed
from kumihimo.services.merge_result import Candidate, MergeResult, MergeStatus
from kumihimo.services.projects import Place
from kumihimo.services.tasks import Reference
from kumihimo.services.travelling import bring_worktree
from kumihimo.services.verifying import Verification
from kumihimo.services.working import checks_of
from kumihimo.settings import Settings

# Somebody may commit to the target while the checks run: then it is done again on what is there by then.
_TRIES = 3


class Merger:
    """`said` hears of each merge as it is over."""

    def __init__(self, board: Board, settings: Settings, said: Callable[[MergeResult], None] | None = None) -> None:
        self._board = board
        self._settings = settings
        self._said = said
        self._verification = Verification(board, settings)

    def merge_all(
        self, place: Place, references: Sequence[Reference], *, skip_checks: bool = False, remove: bool = False
    ) -> list[MergeResult]:
        """In their order. One that can't be merged does not hold the others."""
        candidates = [self._board.workers.candidate(place, reference) for reference in references]
        results: list[MergeResult] = []
        for found in candidates:
            candidate = Candidate(*found)
            try:
                result = self._merge(candidate, skip_checks=skip_checks, remove=remove)
            except (GitError, NothingToMerge) as error:
                result = MergeResult(candidate, "refused", error=error)
            results.append(result)
            if self._said is not None:
                self._said(result)
        return results

    def _merge(self, candidate: Candidate, *, skip_checks: bool, remove: bool) -> MergeResult:
        run = candidate.run
        if run.status == "planned" or (run.live and run.branch is not None):
            raise NothingToMerge(candidate.name, "still_at_work", run=run.id)
        if run.branch is None or run.worktree is None:
            raise NothingToMerge(candidate.name, "no_branch")
        worktrees = workplaces.open_worktrees(candidate.project)
        target = worktrees.repository.target()
        with alone(worktrees.repository.notes / "merge.lock"):
            worktree = worktrees.find(workplaces.name_of(run))
            if worktree is None or not worktree.path.is_dir():
                merged = self._without_worktree(candidate, worktrees, target)
                if merged is not None:
                    return merged
                worktree = self._brought(candidate, worktrees)
            with workplaces.held(self._board, worktrees, worktree.name):
                result = self._merge_worktree(candidate, worktrees, worktree, target, skip_checks=skip_checks)
        if remove and result.status == "merged":
            removal = worktrees.remove(worktree.name, target, live=workplaces.lives(self._board))
            return msgspec.structs.replace(result, removal=removal)
        return result

    def _brought(self, candidate: Candidate, worktrees: Worktrees) -> Worktree:
        """From its branch, which is here or on the remote; or it is said where that is."""
        run = candidate.run
        found = bring_worktree(self._board, self._settings, worktrees, candidate)
        if found is None:
            raise NothingToMerge(candidate.name, "worktree_gone", worktree=run.worktree or "", branch=run.branch or "")
        return found

    def _without_worktree(self, candidate: Candidate, worktrees: Worktrees, target: str) -> MergeResult | None:
        """Somebody has merged it by hand and tidied up: that counts."""
        run, repository = candidate.run, worktrees.repository
        head = repository.find(f"refs/heads/{run.branch}") or self._last_head(run)
        merged = is_merged(repository, head, target) if head is not None and repository.find(head) else None
        if merged is None or head == run.base:
            return None
        evidence = self._board.evidence.of(run.id) or Evidence(run.id, run.base, head, self._board.clock())
        return self._note_merged(candidate, evidence, merged, target, head)

    def _last_head(self, run: Execution) -> str | None:
        known = self._board.evidence.of(run.id)
        return known.head if known else None

    def _merge_worktree(
        self, candidate: Candidate, worktrees: Worktrees, worktree: Worktree, target: str, *, skip_checks: bool
    ) -> MergeResult:
        run = msgspec.structs.replace(candidate.run, skip_checks=True)
        found = self._verification.look(run, candidate.project)
        self._require_work(candidate, worktree, found)
        if found.violations:
            return self._go_back(candidate, "out_of_scope", found, target, files=found.violations)
        if found.merged is not None:
            return self._note_merged(candidate, found, found.merged, target, worktree.head)
        skipped = skip_checks or candidate.run.skip_checks
        for _ in range(_TRIES):
            rebased = rebase(worktree, target)
            if isinstance(rebased, Conflict):
                return self._go_back(candidate, "conflict", found, target, files=tuple(map(printable, rebased.files)))
            found = msgspec.structs.replace(found, head=rebased.head, checks_skipped=skipped)
            if not skipped:
                found = msgspec.structs.replace(found, checks=self._check(candidate, worktree))
                found = self._verification.note_leavings(run, candidate.project, found)
            if found.failed_checks:
                return self._go_back(candidate, "checks_failed", found, target)
            try:
                fast_forward(worktrees.repository, target, rebased.head)
            except NotFastForward:
                continue
            return self._note_merged(candidate, found, "reachable", target, rebased.head)
        raise NothingToMerge(candidate.name, "target_moves", target=target)

    def _require_work(self, candidate: Candidate, worktree: Worktree, found: Evidence) -> None:
        facts = {"branch": worktree.branch or "HEAD", "worktree": str(worktree.path)}
        if found.uncommitted:
            raise NothingToMerge(candidate.name, "uncommitted", files=listed(found.uncommitted), **facts)
        if not found.commits:
            raise NothingToMerge(candidate.name, "no_commits", **facts)

    def _check(self, candidate: Candidate, worktree: Worktree) -> tuple[CheckResult, ...]:
        task = candidate.task
        if task is None:
            return ()
        agent = self._board.agents.show(task.assignee_id or candidate.run.agent_id)
        folder = Path(candidate.run.working_directory or worktree.path)
        return tuple(self._verification.run_checks(checks_of(task, agent, self._settings), folder))

    def _note_merged(
        self, candidate: Candidate, evidence: Evidence, merged: MergedBy, target: str, commit: str | None
    ) -> MergeResult:
        evidence = msgspec.structs.replace(evidence, merged=merged, updated_at=self._board.clock())
        task = self._board.evidence.merged(candidate.run.id, evidence)
        self._verification.keep_proof(candidate.run.id)
        after = msgspec.structs.replace(candidate, task=task or candidate.task)
        return MergeResult(after, "merged", target, commit, evidence=evidence)

    def _go_back(
        self,
        candidate: Candidate,
        status: MergeStatus,
        evidence: Evidence,
        target: str,
        *,
        files: tuple[str, ...] = (),
    ) -> MergeResult:
        """To the task, with what is wrong: somebody has to look at it."""
        result = MergeResult(candidate, status, target, files=files, evidence=evidence)
        task = self._board.evidence.refuse(candidate.run.id, evidence, result.reason or status)
        self._verification.keep_proof(candidate.run.id)
        return msgspec.structs.replace(result, candidate=msgspec.structs.replace(candidate, task=task))
