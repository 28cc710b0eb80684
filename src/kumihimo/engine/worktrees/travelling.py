"""Branches that travel between the hosts of a board, by a remote that the project has."""

from __future__ import annotations

from kumihimo.engine.worktrees.git import Git
from kumihimo.engine.worktrees.repository import Repository

# So long a remote may take. Nobody waits for it but a thread of its own, or who asked for a merge.
SECONDS = 120.0
# What of ours is on the remote: only that may be replaced there.
_PUSHED = "refs/kumi/pushed/"


def remote_of(repository: Repository) -> str | None:
    """The remote that branches travel by: the one that git pushes to, `origin`, or the only one."""
    remotes = repository.git.lines("remote")
    wanted = (repository.git.maybe("config", "remote.pushDefault"), "origin", remotes[0] if len(remotes) == 1 else None)
    return next((name for name in wanted if name in remotes), None)


def push(repository: Repository, remote: str, branch: str) -> None:
    """Put a branch on the remote. What somebody else has there under its name stays, and is a GitError."""
    ref = f"refs/heads/{branch}"
    commit = repository.commit_of(ref)
    ours = repository.find(f"{_PUSHED}{branch}")
    if ours == commit:
        return
    lease = f"--force-with-lease={ref}:{ours or ''}"
    words = ("push", "--quiet", "--no-verify", lease, "--", remote, f"{commit}:{ref}")
    _unattended(repository).run(*words, seconds=SECONDS)
    repository.git.run("update-ref", f"{_PUSHED}{branch}", commit)


def fetch(repository: Repository, remote: str, branch: str) -> bool:
    """Have a branch as it is on the remote. False where that has none. GitError where the one that is here does not go on
    to it, or the remote can't be asked."""
    ref = f"refs/heads/{branch}"
    words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--", remote, f"{ref}:{ref}")
    output = _unattended(repository).run(*words, fine=(0, 1, 128), seconds=SECONDS)
    if output.code and "couldn't find remote ref" in output.err:
        return False
    if output.code:
        raise repository.git.refusal(words, output)
    return True


def _unattended(repository: Repository) -> Git:
    """Nobody is there to be asked for a password, unless the user has a way of their own to the remote."""
    if repository.git.maybe("config", "core.sshCommand"):
        return repository.git
    return repository.git.within({"GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20"})
