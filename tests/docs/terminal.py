"""A shell of somebody new: an empty home, and nothing on PATH but the system, git and make."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
_END = "__end_of_command__"
_BOUND_SECONDS = 180
# What stands for an id: the first one in what was printed last of those that have any.
_IDS = {"GROUP": r"grp-\d+-[0-9a-f]{4}", "RUN": r"exec_[0-9a-z]+", "HANDOFF": r"hnd_[0-9a-z]+"}


class Said(Struct, frozen=True):
    code: int
    lines: list[str]


class Terminal:
    """One bash, in which command after command is typed. What goes to stderr is seen as on a terminal."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "user"
        self.home.mkdir()
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.checkout = _checkout(folder / "kumihimo")
        self._known: dict[str, str] = {}
        self._bash = subprocess.Popen(
            ["/bin/bash", "--noprofile", "--norc"],
            cwd=self.checkout,
            env={"HOME": str(self.home), "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
                 "KUMI_ADMISSION": "slots"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip

    def type(self, command: str) -> Said:
        """What it printed, and how it ended. `$?` of the next command is that of this one."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        for word, known in self._known.items():
            command = re.sub(rf"\b{word}\b", known, command)
        end = f"{{ __code=$?; printf '\\n%s %d\\n' {_END} $__code; (exit $__code); }} 2>&1\n"
        self._bash.stdin.write(f"{command}\n{end}".encode())
        self._bash.stdin.flush()
        lines: list[str] = []
        # A command that hangs is ended together with the shell that it was typed into.
        bound = threading.Timer(_BOUND_SECONDS, lambda: os.killpg(self._bash.pid, signal.SIGKILL))
        bound.start()
        try:
            while line := self._bash.stdout.readline().decode("utf-8", "replace"):
                if line.startswith(_END):
                    self._note("".join(lines))
                    return Said(int(line.split()[1]), "".join(lines).removesuffix("\n").splitlines())
                lines.append(line)
        finally:
            bound.cancel()
        raise AssertionError(f"{command}: no end within {_BOUND_SECONDS} s\n{''.join(lines)}")

    def _note(self, printed: str) -> None:
        for word, pattern in _IDS.items():
            found = re.search(pattern, printed)
            if found:
                self._known[word] = found[0]

    def close(self) -> None:
        if self._bash.poll() is None:
            self.type("kumi down")
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.close()
        self._bash.wait(30)
        self._bash.stdout.close()


def _checkout(folder: Path) -> Path:
    """The repository as `make` finds it when it has installed everything: what is tried is not the network."""
    environment = folder / ".venv"
    environment.mkdir(parents=True)
    for name in ("bin", "lib", "pyvenv.cfg"):
        (environment / name).symlink_to(Path(sys.prefix) / name)
    for name in ("Makefile", "pyproject.toml", "README.md"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
        os.utime(folder / name, (1, 1))
    for stamp in (".usable", ".installed"):
        (environment / stamp).touch()
    return folder
