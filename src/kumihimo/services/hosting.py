"""The host process of a home: found by the file that it leaves, and started where it is needed and not there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kumihimo.domain.errors import StartFailed
from kumihimo.domain.session import Process
from kumihimo.engine.processes.identity import proven_dead
from kumihimo.settings import Settings

FILE = "up.json"
LOG = "up.log"
LOCK = "up.lock"
# The file with the port that it had last, and the port where it has had none.
LAST_PORT = "port"
PORT = 9696
_PATIENCE_SECONDS = 30.0
_LOOK_SECONDS = 0.005


# What this process has started: who asks again must not start another one while it is on its way up.
_begun: dict[Path, subprocess.Popen[bytes]] = {}


class Running(msgspec.Struct, frozen=True):
    """Where a host process is. Left behind by one that was killed: `process` tells whether it lives."""

    url: str
    port: int
    process: Process

    @property
    def reachable(self) -> str:
        """Where somebody on this machine reaches it: one that listens everywhere is here as well."""
        scheme, _, rest = self.url.partition("://")
        host = rest.rpartition(":")[0]
        return f"{scheme}://127.0.0.1:{self.port}" if host in ("0.0.0.0", "[::]") else self.url  # noqa: S104 - compared

    @property
    def alive(self) -> bool:
        return not proven_dead(self.process)


# What the file said, and what it was like then. Whoever starts agents asks for it each time.
_known: dict[str, tuple[tuple[int, ...], Running]] = {}


def find_running(folder: Path) -> Running | None:
    """The live host process of the home with this state folder."""
    name = f"{folder}/{FILE}"
    try:
        found = os.stat(name)  # noqa: PTH116 - with every call that starts something
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        known = _known.get(name)
        if known is None or known[0] != stamp:
            known = _known[name] = (stamp, msgspec.json.decode(Path(name).read_bytes(), type=Running))
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    return known[1] if known[1].alive else None


def was_started(folder: Path) -> bool:
    """Whether there was a host process and nobody has ended it: a glance, where `find_running` looks whether it lives."""
    return (folder / FILE).exists()


def ensure(settings: Settings, arguments: Sequence[str] = ()) -> Running:
    """The host process, started on its own where there is none. StartFailed, with what it said, where it does not come up."""
    found = find_running(settings.state_folder)
    return found if found is not None else _start(settings, arguments)


def start_if_gone(settings: Settings) -> None:
    """Start the host process where there is none, and don't wait for it. Of several that are started one stays."""
    begun = _begun.get(settings.state_folder)
    if begun is not None and begun.poll() is None:
        return
    if find_running(settings.state_folder) is None:
        _spawn(settings, ())


def _spawn(settings: Settings, arguments: Sequence[str]) -> tuple[subprocess.Popen[bytes], int]:
    """The process, and where in the log its own words begin."""
    # Here, and not above: a door asks for a host process often and seldom starts one.
    from kumihimo.engine.agents.client import TOKEN_VARIABLE
    from kumihimo.engine.processes.wrapper import HUB_MARKER, MARKER

    settings.state_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = settings.state_folder / LOG
    with log.open("ab") as output:
        begin = output.tell()
        # Away from the folder of whoever needs it: it lives longer than they do. One that is started from inside a run, or by
        # a server of a hub, is not part of that.
        left_behind = (MARKER, TOKEN_VARIABLE, HUB_MARKER)
        child = subprocess.Popen(
            [sys.executable, "-m", "kumihimo", "--db", settings.database, "up", *arguments],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, cwd=settings.state_folder,
            env={name: value for name, value in os.environ.items() if name not in left_behind},
        )  # fmt: skip
    _begun[settings.state_folder] = child
    return child, begin


def bury(folder: Path) -> None:
    """Wait for the end of a host process that this process started, so that nothing is left of it."""
    begun = _begun.pop(folder, None)
    if begun is not None:
        begun.wait()


def _start(settings: Settings, arguments: Sequence[str]) -> Running:
    child, begin = _spawn(settings, arguments)
    log = settings.state_folder / LOG
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = find_running(settings.state_folder)
        if found is not None:
            return found
        if child.poll() is not None:
            # Another may have been faster and still be on its way up: then ours ended at its lock.
            found = wait_for_other(settings.state_folder)
            if found is not None:
                return found
            break
        time.sleep(_LOOK_SECONDS)
    raise StartFailed("no_supervisor", reason=_said(log, begin))


def wait_for_other(folder: Path) -> Running | None:
    """The host process that was faster and may still be on its way up."""
    deadline = time.monotonic() + 2.0
    while time.monotonic() < deadline:
        found = find_running(folder)
        if found is not None:
            return found
        time.sleep(_LOOK_SECONDS)
    return None


def _said(log: Path, begin: int) -> str:
    """The last thing that it said."""
    lines = log.read_bytes()[begin:].decode("utf-8", "replace").split("\n")
    return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")
