"""The process of a server on stdio: started in a group of its own, and ended with everything in it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess

from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.client.targets import Command


class ServerProcess:
    def __init__(self, command: Command) -> None:
        """Start it. ConnectionFailed where that is not possible."""
        stderr = {"keep": subprocess.PIPE, "drop": subprocess.DEVNULL, "inherit": None}[command.errors]
        try:
            self._process = subprocess.Popen(
                command.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=None if command.environment is None else dict(command.environment),
                cwd=command.folder,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ConnectionFailed(f"{command.argv[0]}: {error}") from error
        self._grace_seconds = command.grace_seconds
        self._ended = asyncio.Event()
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        assert self._process.stdin is not None, "asked for above"
        assert self._process.stdout is not None, "asked for above"
        self.stdin = self._process.stdin
        self.stdout = self._process.stdout
        self.stderr = self._process.stderr

    @property
    def pid(self) -> int:
        return self._process.pid

    def ending(self) -> str:
        """How it ended, for a person."""
        # Looked at and not taken: while nobody has, its pid names its group and nothing else.
        seen = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        if seen is None:
            return "it closed its output and goes on"
        if seen.si_code == os.CLD_EXITED:
            return f"it exited with code {seen.si_status}"
        return f"it was killed by {signal.Signals(seen.si_status).name}"

    async def ended(self) -> None:
        await self._ended.wait()

    async def end(self) -> None:
        """Its input is closed already: wait for it to end by itself, then TERM, then KILL, to its whole group."""
        for number in (None, signal.SIGTERM):
            if number is not None:
                self._signal(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._grace_seconds):
                    await self._ended.wait()
                break
        # Also where it has ended: what it started may have outlived it.
        self._signal(signal.SIGKILL)
        await self._watching
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    async def _watch(self) -> None:
        """Wait for its end without a thread, and leave it to `end` to bury it."""
        loop = asyncio.get_running_loop()
        held = os.pidfd_open(self._process.pid)
        over = loop.create_future()
        try:
            loop.add_reader(held, lambda: None if over.done() else over.set_result(None))
            await over
        finally:
            loop.remove_reader(held)
            os.close(held)
        self._ended.set()
