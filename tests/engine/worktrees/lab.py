"""A repository to try things on, with a worktree in it, and a way to see whether anything was lost."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

from kumihimo.domain.agent import Scope
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.worktree import Worktree
from kumihimo.engine.worktrees.worktrees import Worktrees

NAME = "task-1"
BRANCH = "task-1-s1"


def nobody(holder: str) -> bool:
    return False


def everybody(holder: str) -> bool:
    return True


class Lab:
    """`top` is the user's checkout, `path` the worktree."""

    def __init__(self, root: Path, top: str = "project") -> None:
        self.root = root
        self.top = root / top
        self.target = "main"
        self.limit = 1024 * 1024

    @classmethod
    def made(cls, root: Path, top: str = "project") -> Lab:
        lab = cls(root, top)
        lab.top.mkdir(parents=True)
        lab.git("init", "-q", "-b", "main")
        lab.write("README.md", "one\ntwo\nthree\n")
        lab.write("src/app.py", "print('hello')\n" * 5)
        lab.write("docs/guide.md", "guide\n")
        lab.write(".gitignore", "*.log\n.env\nnode_modules/\nbuild/\n.venv/\n")
        lab.commit("begin")
        return lab

    @property
    def worktrees(self) -> Worktrees:
        return Worktrees(Repository.open(self.top), self.folder, snapshot_limit=self.limit)

    @property
    def folder(self) -> Path:
        return self.top / ".kumi" / "worktrees"

    @property
    def path(self) -> Path:
        return self.folder / NAME

    def create(self, branch: str = BRANCH, scope: Scope | None = None, base: str | None = None) -> Worktree:
        """Made, and given back: nobody is at work in it."""
        made = self.worktrees.create(NAME, branch, base or self.target, holder="exec_1", scope=scope or Scope())
        self.worktrees.release(NAME, "exec_1")
        return made

    def git(self, *arguments: str, at: Path | None = None, fine: tuple[int, ...] = (0,)) -> str:
        """As a user would, with the user's own environment."""
        ended = subprocess.run(["git", *arguments], cwd=at or self.top, capture_output=True, check=False)
        assert ended.returncode in fine, (arguments, ended.stdout, ended.stderr)
        return ended.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def write(self, path: str, content: str | bytes, at: Path | None = None) -> Path:
        place = (at or self.top) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return place

    def commit(self, message: str, at: Path | None = None) -> str:
        self.git("add", "--all", at=at)
        self.git("commit", "-q", "--no-verify", "-m", message, at=at)
        return self.git("rev-parse", "HEAD", at=at)

    def work(self, path: str, content: str | bytes) -> Path:
        """A file in the worktree."""
        return self.write(path, content, self.path)

    def work_commit(self, path: str, content: str | bytes, message: str = "work") -> str:
        self.work(path, content)
        return self.commit(message, self.path)

    def in_worktree(self, *arguments: str, fine: tuple[int, ...] = (0,)) -> str:
        return self.git(*arguments, at=self.path, fine=fine)

    def index(self) -> str:
        return self.in_worktree("ls-files", "--stage") + self.in_worktree("status", "--porcelain=v1", "-uall")

    def commits(self) -> set[str]:
        """Every commit that anything still leads to, the reflogs of the worktree included."""
        found = self.git("rev-list", "--all", "--reflog").splitlines()
        if (self.path / ".git").exists():
            found += self.in_worktree("rev-list", "--all", "--reflog", fine=(0, 128)).splitlines()
            found += self.in_worktree("rev-list", "HEAD", fine=(0, 128)).splitlines()
        return set(found)


Content = tuple[str, bytes, int]


def contents(folder: Path) -> dict[str, Content]:
    """Every file below a folder: what kind, which bytes, which permissions. The link to git itself is left out."""
    found: dict[str, Content] = {}
    for here, folders, files in os.walk(folder):
        for name in [*files, *(one for one in folders if (Path(here) / one).is_symlink())]:
            place = Path(here) / name
            if place == folder / ".git":
                continue
            mode = place.lstat().st_mode
            key = str(place.relative_to(folder))
            if stat.S_ISLNK(mode):
                found[key] = ("link", os.fsencode(place.readlink()), 0)
            else:
                found[key] = ("file", place.read_bytes(), stat.S_IMODE(mode))
    return found
