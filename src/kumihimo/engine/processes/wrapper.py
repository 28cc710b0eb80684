"""The wrapper: a tiny shell around each agent, which outlives us and writes down how the agent ended.

It uses nothing but what is built into the shell, so it costs 0.2 MB and no process of its own besides. What it leaves in
the run's folder is all that anybody needs to take the run over: `started` (who is in its first line starts the agent, so
that no run starts twice), `out` and `err`, and `exit`. All of them may be there before, empty: to make a file takes longer
than everything else that it does. It is told what to do through a pipe, so that shells can be kept ready, and so that no secret
is an argument or lies in a file.
"""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct

from kumihimo.domain.session import Process
from kumihimo.engine.processes.identity import host, proven_dead

# Every process of a run carries this in its environment, with the run's id: so a daemon is found that left its parents.
MARKER = "KUMI_RUN"
# Every process of the servers of a hub carries this one, and ends with the hub. Hosts and agents live longer than whoever has
# started them, also where that is such a server.
HUB_MARKER = "KUMI_HUB_MARK"
# Every shell that may become a wrapper carries this one. A host process may itself have been started by an agent, and its
# runs are not of that agent's run.
NURSERY = "KUMI_NURSERY"

# All of it is one function, which is called in the last line: a shell that is told only half does nothing at all.
# The signal handlers do nothing: the shell must live to see how the agent ends, and a handler, unlike `trap ""`, is not
# handed down to it. `identity` is told to each shell before the script: whoever tells it has had the time to look it up.
# What is appended to a file is behind what was appended before, whoever races: of all who write themselves into `started`
# one is in its first line. Its own stderr stays nowhere: a shell says there how its child was killed.
_SCRIPT = """\
run() {{
unset {nursery}
{exports}
cd {directory} || exit 126
trap : HUP INT QUIT TERM USR1 USR2
echo "$identity" >> {folder}/started || exit 125
exec < {folder}/started
read -r kumi_first
[ "$kumi_first" = "$identity" ] || exit 125
exec < {folder}/in >> {folder}/out
{command} 2>> {folder}/err
echo "$?" >> {folder}/exit
exit
}}
run
"""

# In the place of a wrapper: nobody may start the agent any more.
_NOBODY = b"nobody"

# By these a process can be killed. Some CLIs exit with numbers that only look like 128 and a signal.
_FATAL = frozenset({*range(1, 16), *range(24, 28), *range(29, 32)})


class Ended(Struct, frozen=True):
    """How an agent ended, as the shell saw it: a code of its own, or 128 and the signal that killed it."""

    code: int

    @property
    def signal(self) -> str | None:
        number = self.code - 128
        return signal.Signals(number).name if number in _FATAL else None


class RunFolder:
    """The folder of one run. Everything in it is for the owner alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def out(self) -> Path:
        return self.path / "out"

    @cached_property
    def err(self) -> Path:
        return self.path / "err"

    @cached_property
    def private(self) -> Path:
        return self.path / "private"

    def prepare(self, prompt: str) -> None:
        """Make it, with what the agent will read. Safe to repeat while nothing was started."""
        content = prompt.encode("utf-8", "surrogateescape")
        try:
            _write(f"{self.path}/in", content, os.O_WRONLY)
        except FileNotFoundError:
            # No folder was kept ready for it. `in` comes last: where it is, the others are.
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
            for file in (self.out, self.err):
                file.touch(mode=0o600)
            _write(f"{self.path}/in", content)

    def write(self, path: Path, content: str) -> None:
        """A settings file of the agent, inside the folder."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(path, content.encode())

    def link(self, path: Path, target: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.is_symlink() and not path.exists():
            path.symlink_to(target)

    @property
    def was_started(self) -> bool:
        return bool(self._first_line())

    def forbid(self) -> bool:
        """See to it that the agent is not started any more. False where it was already."""
        if not self.was_started:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path / "started", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(descriptor, _NOBODY + b"\n")
            finally:
                os.close(descriptor)
        return self._first_line() == _NOBODY

    def wrapper(self) -> Process | None:
        """The wrapper that started the agent; None where none did, or it died before it could say who it is."""
        try:
            boot, pid, start_ticks = self._first_line().decode("utf-8", "replace").split()
            return Process(host(), boot, int(pid), int(start_ticks))
        except (OSError, ValueError, IndexError):
            return None

    def note_wrapper(self, wrapper: Process) -> None:
        """For one that was not told to say itself who it is."""
        _write(self.path / "started", f"{wrapper.boot_id} {wrapper.pid} {wrapper.start_ticks}\n".encode())

    def _first_line(self) -> bytes:
        """Of `started`: whoever is in it has won. Nothing while nobody has."""
        try:
            return (self.path / "started").read_bytes().partition(b"\n")[0]
        except FileNotFoundError:
            return b""

    def is_over(self) -> bool:
        """Whether its wrapper is certainly gone."""
        wrapper = self.wrapper()
        return wrapper is None or proven_dead(wrapper)

    def ended(self) -> Ended | None:
        """How the agent ended; None while it has not, or where nobody lived to write it down."""
        try:
            text = (self.path / "exit").read_text("ascii")
        except (OSError, UnicodeDecodeError):
            return None
        return Ended(int(text)) if text.endswith("\n") and text[:-1].isdigit() else None


def script(folder: RunFolder, argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> bytes:
    """What to tell a shell so that it becomes the wrapper of this run. ValueError where a text can't be told."""
    there, here = str(directory), str(folder.path)
    texts = [*argv, *environment.values(), there, here]
    if any("\0" in text for text in texts):
        raise ValueError("a NUL can't be part of a command line")
    exports = [f"export {name}={shlex.quote(value)}" for name, value in environment.items() if _is_name(name)]
    return _SCRIPT.format(
        exports="\n".join(exports) or ":",
        nursery=NURSERY,
        directory=shlex.quote(there),
        folder=shlex.quote(here),
        command=" ".join(shlex.quote(word) for word in argv),
    ).encode("utf-8", "surrogateescape")


def _is_name(word: str) -> bool:
    """Whether a shell can have a variable of this name."""
    return word.isascii() and word.isidentifier()


def _write(path: Path | str, content: bytes, flags: int = os.O_WRONLY | os.O_CREAT) -> None:
    # Not emptied first: what is written into a file that was just emptied, some file systems bring to the disk at once.
    descriptor = os.open(path, flags, 0o600)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        if os.fstat(descriptor).st_size > len(content):
            os.ftruncate(descriptor, len(content))
    finally:
        os.close(descriptor)
