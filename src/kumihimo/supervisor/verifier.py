"""The verifier: beside the supervisor, in a thread of its own, it looks at what runs leave behind.

Checks take minutes and git takes as long as a repository is large, so nobody waits for it. What it has not come to when the
host ends, it comes to when the host is back: what is still to be looked at is written in the store.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

from kumihimo import settings as configuration
from kumihimo.domain.errors import GitError, KumihimoError, StoreError
from kumihimo.domain.evidence import ComingConflict
from kumihimo.domain.execution import Execution
from kumihimo.engine.worktrees.git import printable
from kumihimo.engine.worktrees.merging import coming_conflicts
from kumihimo.engine.worktrees.worktrees import Worktrees
from kumihimo.services import workplaces
from kumihimo.services.board import Board
from kumihimo.services.verifying import Verification
from kumihimo.settings import Settings
from kumihimo.supervisor.abandoned import close_abandoned

# An instance may report through any door: so often it is looked at what there is while something happens on the board, and
# so often while nothing does. Then the supervisor is told of it with its lease, and the board is asked no more than now and then.
_LOOK_SECONDS = 2.0
_IDLE_SECONDS = 20.0
_ASK_SECONDS = 120.0
_MOMENT_SECONDS = 0.3
# How often branches are merged in memory while several runs are under way.
_FORESEE_SECONDS = 5.0
_LATER_SECONDS = 60.0
_TIDY_SECONDS = 300.0


class Verifier:
    """`say` takes what a person should read."""

    def __init__(self, settings: Settings, board: Board, host_id: str, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._board = board
        self._host_id = host_id
        self._say = say
        self._over = False
        self._woken = threading.Event()
        self._stirred = threading.Event()
        self._foresee_at = self._tidy_at = self._ask_at = 0.0
        # While there is something to be looked at again and again of which nobody tells.
        self._busy = self._foreseeing = False
        # What could not be looked at is not tried again and again.
        self._later: dict[str, float] = {}
        self._trees: dict[str, str] = {}
        # Runs whose proof is still to be written; of one that is forgotten with us
        # the same is put together for whoever asks.
        self._over_with: deque[str] = deque()
        board.store.actor = "supervisor"

    def run(self) -> None:
        """Until `stop` is called."""
        quiet = False
        try:
            while not self._over:
                try:
                    self._turn(quiet=quiet)
                    if quiet:
                        # Beside a start or an end it would be in the way of both: they share the disk.
                        self._board.store.tidy()
                except StoreError as error:
                    self._say(f"the store can't be used: {error}")
                quiet = self._rest()
        finally:
            self._board.store.close()

    def _rest(self) -> bool:
        """Until there may be something to look at. Answers whether nothing has happened on the board meanwhile."""
        if not self._woken.wait(_LOOK_SECONDS) and not self._busy and self._stirred.wait(_IDLE_SECONDS - _LOOK_SECONDS):
            # Whoever has just begun something needs the machine more.
            self._woken.wait(_MOMENT_SECONDS)
        quiet = not (self._woken.is_set() or self._stirred.is_set())
        self._woken.clear()
        self._stirred.clear()
        return quiet

    def expect(self, runs: list[str]) -> None:
        """From any thread: these runs are over."""
        self._over_with.extend(runs)
        self._wake()

    def stir(self) -> None:
        """From any thread: something has happened on the board."""
        self._stirred.set()

    def look_soon(self) -> None:
        """From any thread: there is something, although nothing needs to have happened."""
        self._ask_at = 0.0

    def stop(self) -> None:
        """From any thread."""
        self._over = True
        self._wake()

    def _wake(self) -> None:
        self._woken.set()
        self._stirred.set()

    def _turn(self, *, quiet: bool) -> None:
        now = time.monotonic()
        something = self._anything(now, quiet=quiet)
        for run in self._board.evidence.unverified(self._host_id) if something else ():
            if self._over:
                return
            if self._later.get(run.id, 0.0) <= now:
                self._verify(run)
        self._keep_proofs()
        if now >= self._foresee_at or not something:
            self._foresee_at = now + _FORESEE_SECONDS
            self._foreseeing = something and self._foresee()
        if now >= self._tidy_at:
            self._tidy_at = now + _TIDY_SECONDS
            self._board.workers.expire_unused()
        self._busy = something and (close_abandoned(self._board, self._settings, self._host_id) or self._foreseeing)

    def _anything(self, now: float, *, quiet: bool) -> bool:
        """One question, where most of the time nothing is there."""
        if quiet and not self._busy and now < self._ask_at:
            return False
        self._ask_at = now + _ASK_SECONDS
        return self._board.evidence.anything_to_look_at(self._host_id)

    def _verify(self, run: Execution) -> None:
        folder = Path(run.working_directory or "")
        if run.host_id is None and not folder.is_dir():
            # It was done on another machine, and can be looked at only there.
            self._later[run.id] = time.monotonic() + _LATER_SECONDS
            return
        try:
            settings = configuration.load(configuration.Flags(db=self._settings.database), os.environ, folder)
            found = Verification(self._board, settings, stop=lambda: self._over).verify(run)
            if found is not None and found.unpushed is not None:
                self._say(f"the branch {run.branch} of {run.id} could not be pushed: {found.unpushed}")
        except StoreError:
            raise
        except (KumihimoError, OSError) as error:
            self._later[run.id] = time.monotonic() + _LATER_SECONDS
            self._say(f"{run.id} could not be looked at: {error}")

    def _keep_proofs(self) -> None:
        """Of runs that left nothing to be looked at: what is known of them is known already."""
        while self._over_with and not self._over:
            run = self._over_with.popleft()
            try:
                sight = self._board.executions.sight(run)
                if not sight.execution.unverified:
                    Verification(self._board, self._settings).keep_proof_of(sight)
            except OSError as error:
                self._say(f"the proof of {run} could not be written: {error}")

    # Conflicts to come

    def _foresee(self) -> bool:
        """Of runs that change the same repository, which would conflict if they were merged as they are. Answers whether there
        are any under way."""
        by_project: dict[str, list[Execution]] = {}
        for run in self._board.evidence.under_way(self._host_id):
            if run.project_id is not None:
                by_project.setdefault(run.project_id, []).append(run)
        for project_id, runs in by_project.items():
            if len(runs) > 1:
                self._foresee_in(project_id, runs)
        return bool(by_project)

    def _foresee_in(self, project_id: str, runs: list[Execution]) -> None:
        try:
            worktrees = workplaces.open_worktrees(self._board.projects.show(project_id))
            trees = {run.id: tree for run in runs if (tree := _tree(worktrees, run)) is not None}
            if all(self._trees.get(run) == tree for run, tree in trees.items()):
                return
            found = _conflicts(worktrees, [run for run in runs if run.id in trees], trees)
        except (GitError, OSError) as error:
            self._say(f"coming conflicts could not be looked for: {error}")
            return
        self._trees = trees
        for run_id, conflicts in found.items():
            self._board.evidence.foresee(run_id, tuple(conflicts))


def _tree(worktrees: Worktrees, run: Execution) -> str | None:
    worktree = worktrees.find(workplaces.name_of(run))
    return worktrees.state_tree(worktree) if worktree is not None and worktree.path.is_dir() else None


def _conflicts(worktrees: Worktrees, runs: list[Execution], trees: dict[str, str]) -> dict[str, list[ComingConflict]]:
    found: dict[str, list[ComingConflict]] = {run.id: [] for run in runs}
    for one, other in combinations(runs, 2):
        base = worktrees.repository.git.maybe("merge-base", one.base or "", other.base or "")
        if base is None:
            continue
        files = tuple(map(printable, coming_conflicts(worktrees.repository, trees[one.id], trees[other.id], base)))
        if files:
            found[one.id].append(ComingConflict(other.id, files))
            found[other.id].append(ComingConflict(one.id, files))
    return found
