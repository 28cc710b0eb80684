"""Servers on a port: started for a while, and gone afterwards with whatever they have started."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from pathlib import Path

KUMI = str(Path(sys.executable).with_name("kumi"))
_PATIENCE_SECONDS = 30.0
_FAREWELL_SECONDS = 20.0
_LAST_WORDS = 2000


def clean_environment(home: Path) -> dict[str, str]:
    """As a user has it: modules are compiled once, and nothing of this shell is known to the servers."""
    dropped = ("KUMI_", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "NODE_OPTIONS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "KUMI_HOME": str(home), "KUMI_LANG": "en"}


def kumi(words: list[str], environment: Mapping[str, str], folder: Path) -> str:
    """What it says."""
    done = subprocess.run([KUMI, *words], env=environment, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.contextmanager
def running(
    command: list[str], port: int, environment: Mapping[str, str], folder: Path, log: Path | None = None
) -> Generator[int, None, None]:
    """Its process, once the port is open. What it complains about goes into the log, if there is one."""
    with contextlib.ExitStack() as stack:
        errors = stack.enter_context(log.open("wb")) if log else None
        # A group of its own: whatever it has started can be ended with it.
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=errors, cwd=folder, env=environment, start_new_session=True
        )
        stack.callback(_end, process)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text("utf-8", "replace")[-_LAST_WORDS:] if log else ""
                raise RuntimeError(f"did not start: {' '.join(command)}\n{said}")
            time.sleep(0.02)
        yield process.pid


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_FAREWELL_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"  did not end when it was told to: {process.args}")
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
