"""Sees to it that no process of a hub's servers is left, however the hub ends.

A hub that is killed can end nobody. So beside it waits a small process, the guardian, for the end of a pipe that only the
hub holds. Then it ends every process that has the hub's mark in its environment: also those that a server has let loose.
"""

from __future__ import annotations

import asyncio
import secrets
import subprocess
import sys
from pathlib import Path

VARIABLE = "KUMI_HUB_MARK"
_PROGRAM = Path(__file__).with_name("guardian_program.py")


class Guardian:
    """Started with the first server that is."""

    def __init__(self) -> None:
        self.mark = secrets.token_hex(8)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self._process is not None or not Path("/proc/self/environ").exists():
            return
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PROGRAM), f"{VARIABLE}={self.mark}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    async def close(self) -> None:
        """When the servers were told to end: what is left of them ends now."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None, "asked for above"
        process.stdin.close()
        await asyncio.get_running_loop().run_in_executor(None, process.wait)
