"""A repository: where it is, what its main checkout is on, and where we keep our own notes in it."""

from __future__ import annotations

from pathlib import Path

from kumihimo.domain.errors import HeadDetached, HeadUnborn, NotARepository, UnknownRevision
from kumihimo.engine.worktrees.git import Git, disk_errors, printable
from kumihimo.engine.worktrees.locks import alone


class Repository:
    """`top` is the checkout that was opened (the folder of git itself where it is bare), `common_folder` what all share."""

    def __init__(self, top: Path, common_folder: Path, bare: bool) -> None:
        self.top = top
        self.common_folder = common_folder
        self.bare = bare
        self.git = Git(top)

    @classmethod
    def open(cls, folder: Path) -> Repository:
        """The repository that a folder is in. GitError where it is in none."""
        if not folder.is_dir():
            raise NotARepository(printable(str(folder)))
        git = Git(folder)
        common = (folder / git.text("rev-parse", "--git-common-dir")).resolve()
        if git.text("rev-parse", "--is-inside-work-tree") == "true":
            return cls(Path(git.text("rev-parse", "--show-toplevel")).resolve(), common, bare=False)
        bare = git.text("rev-parse", "--is-bare-repository") == "true"
        # Inside `.git` itself: its checkout is the folder above.
        return cls(common if bare else common.parent, common, bare)

    @property
    def notes(self) -> Path:
        """Our own folder in the repository's: holds, records, locks. Shared by all of its worktrees, never committed."""
        return self.common_folder / "kumi"

    def target(self) -> str:
        """The branch of the checkout, which work is merged into."""
        branch = self.git.maybe("symbolic-ref", "--quiet", "--short", "HEAD")
        if branch is None:
            raise HeadDetached(printable(str(self.top)))
        if self.find(f"refs/heads/{branch}") is None:
            raise HeadUnborn(printable(str(self.top)), printable(branch))
        return branch

    def commit_of(self, ref: str) -> str:
        """The commit that a name stands for."""
        found = self.find(ref)
        if found is None:
            raise UnknownRevision(printable(ref), printable(str(self.top)))
        return found

    def find(self, ref: str) -> str | None:
        """The same, or None. A branch comes before a tag or file of the same name."""
        if not ref or ref.startswith("-"):
            return None
        for name in (f"refs/heads/{ref}", ref):
            found = self.git.maybe("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
            if found:
                return found
        return None

    def exclude(self, pattern: str) -> None:
        """Have git overlook what fits the pattern, here and in every worktree, without touching a tracked file."""
        file = self.common_folder / "info" / "exclude"
        with disk_errors(file), alone(self.notes / "exclude.lock"):
            file.parent.mkdir(exist_ok=True)
            known = file.read_bytes() if file.exists() else b""
            if pattern.encode() in known.splitlines():
                return
            separator = b"" if not known or known.endswith(b"\n") else b"\n"
            with file.open("ab") as appended:
                appended.write(separator + pattern.encode() + b"\n")
