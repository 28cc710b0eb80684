"""The worktrees of a project: one folder each, one holder at a time, and nothing of them is ever lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import GitError, SnapshotNotFound, WorktreeInTheWay, WorktreeNotFound
from kumihimo.engine.worktrees import creating, diff, examination, removing, restoring, scope, snapshot, trees
from kumihimo.engine.worktrees.diff import Diff
from kumihimo.engine.worktrees.git import Git, printable
from kumihimo.engine.worktrees.holding import Live
from kumihimo.engine.worktrees.mending import healthy
from kumihimo.engine.worktrees.record import Record
from kumihimo.engine.worktrees.removal import Removal
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.restriction import leave_out
from kumihimo.engine.worktrees.site import Site
from kumihimo.engine.worktrees.state import State
from kumihimo.engine.worktrees.worktree import Worktree

# Bytes of untracked and ignored files that go into a snapshot; more keeps the worktree.
SNAPSHOT_LIMIT = 100 * 1024 * 1024


def _utc() -> datetime:
    return datetime.now(UTC)


class Worktrees:
    """`folder` is normally `<project>/.kumi/worktrees`."""

    def __init__(
        self,
        repository: Repository,
        folder: Path,
        *,
        snapshot_limit: int = SNAPSHOT_LIMIT,
        now: Callable[[], datetime] = _utc,
    ) -> None:
        self.repository = repository
        self._site = Site(repository, folder, snapshot_limit, now)

    def create(
        self, name: str, branch: str, base: str, *, holder: str, scope: Scope, live: Live | None = None
    ) -> Worktree:
        """The worktree of that name, made or taken up again, and held. WorktreeHeld where somebody else has it."""
        return creating.create(self._site, name, branch, base, holder=holder, scope=scope, live=live)

    def hold(self, name: str, holder: str, live: Live | None = None) -> None:
        """One at a time. With `live`, a holder that is not alive any more is relieved."""
        with self._site.alone():
            entry = self._site.locate(name)
            if entry is None:
                raise WorktreeNotFound(name)
            self._site.holds.take(name, holder, live)
            self._site.holds.fasten(entry, holder)

    def release(self, name: str, holder: str) -> None:
        """Given back by its holder; by anybody else, nothing happens."""
        with self._site.alone():
            if self._site.holds.give_back(name, holder):
                entry = self._site.locate(name)
                if entry is not None:
                    self._site.holds.unfasten(entry)

    def holder(self, name: str) -> str | None:
        return self._site.holds.holder(name)

    def all(self) -> list[Worktree]:
        """Every one, those whose folder was deleted by hand included."""
        found = ((name, self._site.locate(name)) for name in self._site.names())
        return [self._site.worktree(name, entry) for name, entry in found if entry is not None]

    def find(self, name: str) -> Worktree | None:
        entry = self._site.locate(name)
        return self._site.worktree(name, entry) if entry is not None else None

    def prune(self) -> list[Removal]:
        """Forget those whose folder is gone and that nobody holds; what only git's index still had of them is saved first."""
        with self._site.alone():
            removing.clear_gone(self._site)
            found = ((name, self._site.locate(name)) for name in self._site.names())
            return [
                removing.remove_missing(self._site, name, entry)
                for name, entry in found
                if entry is not None and entry.missing and self.holder(name) is None
            ]

    def examine(self, worktree: Worktree, target: str) -> State:
        return examination.examine(self.repository, worktree.path, target)

    def remove(self, name: str, target: str, *, live: Live, force: bool = False) -> Removal:
        """Take it away. What is not in the target, or nowhere else, is saved first; what can't be saved keeps it.

        `force` saves more than the limit, and half-done rebases. It never takes a worktree from a live holder.
        """
        return removing.remove(self._site, name, target, live=live, force=force)

    def restore(self, name: str) -> Worktree:
        """The worktree as its newest snapshot has it. The snapshot stays."""
        site = self._site
        with site.alone():
            saved = snapshot.newest(self.repository, name)
            if saved is None:
                raise SnapshotNotFound(name)
            self._make_room(name)
            manifest = restoring.read(self.repository, saved)
            place = site.path(name)
            place.parent.mkdir(parents=True, exist_ok=True)
            try:
                branch = restoring.unfold(self.repository, saved, manifest, place)
                if manifest.scope.exclude:
                    leave_out(Git(place), manifest.scope.exclude)
            except (GitError, OSError):
                # All of it came out of the snapshot, which is still there.
                self.repository.git.run("worktree", "remove", "--force", "--force", str(place), fine=(0, 128))
                raise
            admin = Path(Git(place).text("rev-parse", "--absolute-git-dir")).name
            site.records.keep(Record(name, admin, branch, manifest.scope))
            if manifest.base:
                site.records.rebase(name, manifest.base)
            entry = site.locate(name)
            if entry is None:
                raise WorktreeNotFound(name)
            return site.worktree(name, entry)

    def snapshots(self, name: str) -> list[str]:
        """Their refs, the oldest first."""
        return snapshot.refs(self.repository, name)

    def gc(self, targets: Mapping[str, str], *, live: Live, dry_run: bool = False) -> list[Removal]:
        """Remove those whose work has arrived, and say of each what was done and why. One without a target in `targets`
        is measured by the branch of the checkout."""
        if not dry_run:
            with self._site.alone():
                removing.clear_gone(self._site)
        found = (self._collect(name, targets.get(name), live, dry_run) for name in self._site.names())
        return [removal for removal in found if removal is not None]

    def diff(self, worktree: Worktree, base: str) -> Diff:
        """All that was done since the base, uncommitted and untracked work included."""
        return diff.diff(worktree.path, base)

    def changed_paths(self, worktree: Worktree, base: str) -> list[str]:
        return diff.changed_paths(worktree.path, base)

    def violations(self, worktree: Worktree, base: str, allowed: Scope) -> list[str]:
        """What was changed although the scope does not let it."""
        return scope.outside(self.changed_paths(worktree, base), allowed)

    def state_tree(self, worktree: Worktree) -> str:
        """A tree of git with what is in the worktree now, ignored files apart. Its index is not touched."""
        return trees.state_tree(worktree.path)

    def _collect(self, name: str, target: str | None, live: Live, dry_run: bool) -> Removal | None:
        try:
            goal = target if target is not None else self.repository.target()
            return removing.remove(self._site, name, goal, live=live, force=False, only_merged=True, dry_run=dry_run)
        except WorktreeNotFound:
            # Somebody else has just removed it.
            return None
        except GitError as error:
            # One that can't be looked at is kept, and must not keep the others.
            return Removal(name, False, "failed", facts={"reason": str(error)})

    def _make_room(self, name: str) -> None:
        entry = self._site.locate(name)
        if entry is not None and entry.missing and not healthy(entry):
            removing.forget_missing(self._site, name, entry)
            entry = None
        place = self._site.path(name)
        if entry is not None or place.is_symlink() or (place.exists() and any(place.iterdir())):
            raise WorktreeInTheWay(name, printable(str(entry.path if entry is not None else place)))
