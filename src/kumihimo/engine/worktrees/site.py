"""Where the worktrees of one project are: found by name, wherever they were moved, one change at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from kumihimo.domain.agent import Scope
from kumihimo.engine.worktrees import snapshot
from kumihimo.engine.worktrees.entry import Entry, entries
from kumihimo.engine.worktrees.git import disk_errors
from kumihimo.engine.worktrees.holding import Holds
from kumihimo.engine.worktrees.locks import alone
from kumihimo.engine.worktrees.mending import healthy, reconnect
from kumihimo.engine.worktrees.record import Records, checked
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.worktree import Worktree


class Site:
    """`limit` is how many bytes of untracked files a snapshot takes; `now` names it."""

    def __init__(self, repository: Repository, folder: Path, limit: int, now: Callable[[], datetime]) -> None:
        self.repository = repository
        # Git knows a worktree by its real path.
        self.folder = folder.resolve()
        self.limit = limit
        self.now = now
        self.records = Records(repository)
        self.holds = Holds(repository)

    @contextmanager
    def alone(self) -> Generator[None]:
        """One change of the repository's worktrees at a time; what the disk refuses is said as git would."""
        with disk_errors(self.folder), alone(self.repository.notes / "worktrees.lock"):
            yield

    def path(self, name: str) -> Path:
        return self.folder / checked(name)

    def names(self) -> list[str]:
        """Those we made, and those that somebody else made in our folder."""
        found = {entry.path.name for entry in entries(self.repository)[1:] if entry.path.parent == self.folder}
        return sorted(found | {name for name in self.records.names() if self._entry(name) is not None})

    def locate(self, name: str) -> Entry | None:
        """What git knows of it, mended where it was moved. Its folder may be gone all the same."""
        entry = self._entry(name)
        if entry is not None and healthy(entry):
            return entry
        return self._entry(name) if reconnect(self.repository, entry, self.path(name)) else entry

    def worktree(self, name: str, entry: Entry) -> Worktree:
        return Worktree(
            name=name,
            path=entry.path,
            branch=entry.branch,
            base=self.base(name, entry),
            head=entry.head,
            snapshot=snapshot.newest(self.repository, name),
        )

    def base(self, name: str, entry: Entry) -> str:
        """Where its work began; for one that we did not make, where it left the checkout's branch."""
        known = self.records.base(name)
        if known is not None:
            return known
        head = entry.head or ""
        return self.repository.git.maybe("merge-base", head, "HEAD") or head if head else ""

    def scope(self, name: str) -> Scope:
        record = self.records.find(name)
        return record.scope if record is not None else Scope()

    def _entry(self, name: str) -> Entry | None:
        linked = entries(self.repository)[1:]
        record = self.records.find(name)
        if record is not None:
            known = [entry for entry in linked if entry.admin is not None and entry.admin.name == record.admin]
            if known:
                return known[0]
        return next((entry for entry in linked if entry.path == self.path(name)), None)
