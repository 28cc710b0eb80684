"""Sees to it that no process of a hub's servers is left, however the hub ends.

A hub that is killed can end nobody. So beside it waits a small process, the guardian, for the end of a pipe that only the
hub holds. Then it ends every process that has the hub's mark in its environment: also those that a server has let loose.
A hub that ends in order does that itself, and tells the guardian that it is not needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
from pathlib import Path

from kumihimo.engine.processes.wrapper import HUB_MARKER
from kumihimo.hub.guardian_program import end_marked

VARIABLE = HUB_MARKER
_PATIENCE_SECONDS = 2.0
_PROGRAM = Path(__file__).with_name("guardian_program.py")
# A shell waits, and becomes the program when there is something to do: it is there at once and takes next to nothing, while
# an interpreter would start at the same time as the servers and keep them waiting. The hub is who hears signals.
_WAITING = """trap '' INT TERM HUP
read -r word
[ "$word" = over ] || exec "$@"
"""


class Guardian:
    """Started with the first server that is."""

    def __init__(self) -> None:
        self.mark = secrets.token_hex(8)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self._process is not None or not Path("/proc/self/environ").exists():
            return
        program = [sys.executable, "-I", "-S", str(_PROGRAM), f"{VARIABLE}={self.mark}"]
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _WAITING, "sh", *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
            # In a server of another hub it is not one of that hub's processes: killed with them it could end nobody.
            env={name: value for name, value in os.environ.items() if name != VARIABLE},
        )

    async def close(self) -> None:
        """When the servers were told to end: what is left of them ends now."""
        process, self._process = self._process, None
        if process is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._end, process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None, "asked for above"
        # Where this breaks, the guardian finds the end of its input, and no word in it.
        with process.stdin as line:
            end_marked(os.fsencode(f"{VARIABLE}={self.mark}"))
            with contextlib.suppress(BrokenPipeError):
                # It may have been killed: what it is there for is done.
                line.write(b"over\n")
        try:
            process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            # Somebody has stopped it. What it is there for is done.
            process.kill()
            process.wait()
