"""Git, run so that nobody's environment, hook, pager, editor or prompt gets between us and the answer."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kumihimo.domain.errors import (
    FilterMissing,
    GitError,
    GitLocked,
    GitMissing,
    NotARepository,
    UnsafeRepository,
)

# Everything else that begins with GIT_ is dropped: a hook or an editor may have set it for another repository.
_KEPT = {
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
    "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
}  # fmt: skip
_ADDED = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    # A reader must not take index.lock: the agent's own git would fail on it.
    "GIT_OPTIONAL_LOCKS": "0",
    # File names are names, also where they hold * or [.
    "GIT_LITERAL_PATHSPECS": "1",
}
# What a user's configuration may not change about our commands.
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.safecrlf=false",
    "commit.gpgSign=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "branch.autoSetupMerge=false",
    "merge.autoStash=false",
    "advice.detachedHead=false",
)
_OPTIONS = tuple(word for setting in _SETTINGS for word in ("-c", setting))
# Where no name is set, git would refuse or guess one from the machine's name.
NOBODY = {"NAME": "Kumihimo", "EMAIL": "kumihimo@localhost"}


class Output(NamedTuple):
    code: int
    out: str
    err: str


class Git:
    """Git in one folder. `environment` is added to the clean one."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self._added = dict(environment or {})

    def within(self, environment: Mapping[str, str]) -> Git:
        """The same, with more environment: another index, another identity."""
        return Git(self.folder, {**self._added, **environment})

    def run(
        self, *arguments: str, given: str | bytes = b"", fine: Sequence[int] = (0,), seconds: float | None = None
    ) -> Output:
        """What it said. GitError where it ends with a code that is not `fine`, or not within the time."""
        stdin = given if isinstance(given, bytes) else _encoded(given)
        try:
            # A folder that is gone and a git that is not there look the same to Popen: tell them apart first.
            if not self.folder.is_dir():
                raise GitError(_command(arguments), printable(str(self.folder)), "the folder is not there")
            ended = subprocess.run(
                ["git", *_OPTIONS, *arguments],
                cwd=self.folder,
                input=stdin,
                capture_output=True,
                env=environment(self._added),
                check=False,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as error:
            reason = f"it was not done within {error.timeout:.0f} seconds"
            raise GitError(_command(arguments), printable(str(self.folder)), reason) from error
        except OSError as error:
            raise GitMissing(error.strerror or str(error)) from error
        output = Output(ended.returncode, _decoded(ended.stdout), _decoded(ended.stderr))
        if output.code not in fine:
            raise self.refusal(arguments, output)
        return output

    def text(self, *arguments: str, given: str | bytes = b"") -> str:
        """The answer as one value, without its line break."""
        return self.run(*arguments, given=given).out.removesuffix("\n")

    def names(self, *arguments: str, given: str | bytes = b"") -> list[str]:
        """The answer of a command that was asked for NUL between its values."""
        return [name for name in self.run(*arguments, given=given).out.split("\0") if name]

    def lines(self, *arguments: str, given: str | bytes = b"") -> list[str]:
        return self.run(*arguments, given=given).out.splitlines()

    def says(self, *arguments: str) -> bool:
        """A question that git answers by its exit code: 0 is yes, 1 is no."""
        return self.run(*arguments, fine=(0, 1)).code == 0

    def maybe(self, *arguments: str) -> str | None:
        """The answer, or None where there is none: for values that may not be there."""
        output = self.run(*arguments, fine=(0, 1, 128))
        return output.out.removesuffix("\n") if output.code == 0 else None

    def path(self, name: str) -> Path:
        """Where git keeps a file of its own (`index`, `MERGE_HEAD`) for this folder."""
        return self.folder / self.text("rev-parse", "--git-path", name)

    def refusal(self, arguments: Sequence[str], output: Output) -> GitError:
        """What it said, as an error that says what to do."""
        folder = printable(str(self.folder))
        if "dubious ownership" in output.err:
            return UnsafeRepository(folder)
        if "not a git repository" in output.err:
            return NotARepository(folder)
        if found := re.search(r"nable to create '(.+\.lock)': File exists", output.err):
            return GitLocked(printable(found[1]))
        reason = first_useful_line(output.err) or f"exit code {output.code}"
        if re.search(r"(clean|smudge) filter .* failed|external filter .* failed", output.err):
            return FilterMissing(folder, reason)
        return GitError(_command(arguments), folder, reason)


@contextmanager
def disk_errors(folder: Path) -> Generator[None]:
    """What the disk refuses, said as what git refuses is."""
    try:
        yield
    except OSError as error:
        where = printable(os.fsdecode(error.filename or folder))
        raise GitError("worktree", where, error.strerror or str(error)) from error


def environment(added: Mapping[str, str]) -> dict[str, str]:
    """Ours, without what would send git somewhere else."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT}
    return {**clean, **_ADDED, **added}


def identity(git: Git, who: str = "COMMITTER") -> dict[str, str]:
    """The environment that names a committer or author: the user's own name where one is set, else ours."""
    found: dict[str, str] = {}
    for part, fallback in NOBODY.items():
        variable = f"GIT_{who}_{part}"
        keys = (f"{who.lower()}.{part.lower()}", f"user.{part.lower()}")
        own = os.environ.get(variable) or next((value for key in keys if (value := git.maybe("config", key))), None)
        found[variable] = own or fallback
    return found


def first_useful_line(said: str) -> str:
    """What is wrong, out of what git said on stderr."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    serious = [line for line in lines if line.startswith(("fatal:", "error:"))]
    line = (serious or lines or [""])[0]
    return printable(re.sub(r"^(fatal|error|warning): ", "", line)).rstrip(".: ")


def printable(text: str) -> str:
    """A text that may hold the bytes of a file name, as one that can be shown and stored."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _command(arguments: Sequence[str]) -> str:
    return printable(next((word for word in arguments if not word.startswith("-")), ""))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
