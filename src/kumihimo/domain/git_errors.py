"""What git, or the state of a repository, can refuse. To the outside all of it is one `GitError`.

The tree is drawn in `errors.py`, from where these are imported.
"""

from __future__ import annotations

from collections.abc import Iterable

from kumihimo.domain.refusal import KumihimoError, listed


class GitError(KumihimoError):
    """Git refused. `reason` is the first useful line of what it said."""

    def __init__(self, command: str, folder: str, reason: str) -> None:
        super().__init__(command=command, folder=folder, reason=reason)


class GitMissing(GitError):
    def __init__(self, reason: str) -> None:
        KumihimoError.__init__(self, reason=reason)


class NotARepository(GitError):
    def __init__(self, folder: str) -> None:
        KumihimoError.__init__(self, folder=folder)


class UnsafeRepository(GitError):
    """It belongs to another user, and git does not trust it."""

    def __init__(self, folder: str) -> None:
        KumihimoError.__init__(self, folder=folder)


class GitLocked(GitError):
    """A lock file of git is there: another git is at work, or one died."""

    def __init__(self, lock: str) -> None:
        KumihimoError.__init__(self, lock=lock)


class FilterMissing(GitError):
    """Files go through a program (such as git-lfs) that does not run here."""

    def __init__(self, folder: str, reason: str) -> None:
        KumihimoError.__init__(self, folder=folder, reason=reason)


class HeadUnborn(GitError):
    """The branch that is checked out has no commit."""

    def __init__(self, folder: str, branch: str) -> None:
        KumihimoError.__init__(self, folder=folder, branch=branch)


class HeadDetached(GitError):
    """No branch is checked out where one is needed."""

    def __init__(self, folder: str) -> None:
        KumihimoError.__init__(self, folder=folder)


class UnknownRevision(GitError):
    """A branch or commit that the repository does not have."""

    def __init__(self, revision: str, folder: str) -> None:
        KumihimoError.__init__(self, revision=revision, folder=folder)


class BranchTaken(GitError):
    """The branch is checked out in another folder."""

    def __init__(self, branch: str, folder: str) -> None:
        KumihimoError.__init__(self, branch=branch, folder=folder)


class WorktreeNotFound(GitError):
    def __init__(self, name: str) -> None:
        KumihimoError.__init__(self, name=name)


class WorktreeHeld(GitError):
    """Somebody else works in it."""

    def __init__(self, name: str, holder: str) -> None:
        KumihimoError.__init__(self, name=name, holder=holder)


class WorktreeInTheWay(GitError):
    """Something that is not ours, or still in use, is where a worktree should be."""

    def __init__(self, name: str, path: str) -> None:
        KumihimoError.__init__(self, name=name, path=path)


class SnapshotNotFound(GitError):
    def __init__(self, name: str) -> None:
        KumihimoError.__init__(self, name=name)


class UnfinishedOperation(GitError):
    """A rebase, merge or the like has stopped half way."""

    def __init__(self, path: str, operation: str) -> None:
        KumihimoError.__init__(self, path=path, operation=operation)


class ChangesInTheWay(GitError):
    """Uncommitted work would be overwritten, or left behind."""

    def __init__(self, folder: str, files: Iterable[str]) -> None:
        KumihimoError.__init__(self, folder=folder, files=listed(files))


class NotFastForward(GitError):
    """The target has commits that the work does not have."""

    def __init__(self, target: str, commit: str) -> None:
        KumihimoError.__init__(self, target=target, commit=commit)
