"""A bystander: a process of nobody's run, which writes down every signal that it gets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Self

from .patience import until

_PROGRAM = """
import os, signal, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def note(number, frame):
    os.write(log, f"{number}\\n".encode())
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
    signal.signal(number, note)
os.write(log, b"ready\\n")
while True:
    time.sleep(60)
"""


class Bystander:
    """`own_session`: far away from the test, else a child like any other of it."""

    def __init__(self, log: Path, *, own_session: bool = True, environment: dict[str, str] | None = None) -> None:
        self._log = log
        self.process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(log)], start_new_session=own_session, env=environment
        )
        until(lambda: log.exists() and log.read_text() == "ready\n", "the bystander")

    @property
    def was_left_alone(self) -> bool:
        return self.process.poll() is None and self._log.read_text() == "ready\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
