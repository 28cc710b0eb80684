"""Who holds a worktree: one at a time, told to git as well, so that nobody's `git worktree prune` takes it away."""

from __future__ import annotations

from collections.abc import Callable

from kumihimo.domain.errors import WorktreeHeld
from kumihimo.engine.worktrees.entry import Entry
from kumihimo.engine.worktrees.locks import alone
from kumihimo.engine.worktrees.record import checked, replace
from kumihimo.engine.worktrees.repository import Repository

Live = Callable[[str], bool]
_REASON = "kumi: held by "


class Holds:
    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._folder = repository.notes / "held"

    def holder(self, name: str) -> str | None:
        try:
            return (self._folder / checked(name)).read_text("utf-8")
        except FileNotFoundError:
            return None

    def take(self, name: str, holder: str, live: Live | None = None) -> bool:
        """True where it was free. Who holds it may take it again; from a holder that is not alive it is taken over."""
        with alone(self._folder.with_name("held.lock")):
            current = self.holder(name)
            if current == holder:
                return False
            if current is not None and (live is None or live(current)):
                raise WorktreeHeld(name, current)
            replace(self._folder / name, holder.encode("utf-8"))
            return True

    def give_back(self, name: str, holder: str) -> bool:
        """False where somebody else, or nobody, holds it: that is left as it is."""
        with alone(self._folder.with_name("held.lock")):
            if self.holder(name) != holder:
                return False
            (self._folder / name).unlink()
            return True

    def fasten(self, entry: Entry, holder: str) -> None:
        """Tell git. A lock that somebody else has put on stays theirs."""
        if entry.locked is not None and entry.locked.startswith(_REASON):
            self.unfasten(entry)
        elif entry.locked is not None:
            return
        self._repository.git.run("worktree", "lock", "--reason", f"{_REASON}{holder}", str(entry.path))

    def unfasten(self, entry: Entry) -> None:
        if ours(entry):
            self._repository.git.run("worktree", "unlock", str(entry.path))


def ours(entry: Entry) -> bool:
    """Whether the lock that git knows of is one of ours."""
    return entry.locked is not None and entry.locked.startswith(_REASON)
