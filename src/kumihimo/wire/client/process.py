"""The process of a server on stdio: started in a group of its own, and ended with everything in it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from concurrent.futures import Future

from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.client.refusals import why_not_started
from kumihimo.wire.client.spawning import Spawned, spawn
from kumihimo.wire.client.targets import Command


async def start(command: Command) -> ServerProcess:
    """ConnectionFailed where it can't be started."""
    spawning = spawn(command)
    try:
        return ServerProcess(await asyncio.shield(asyncio.wrap_future(spawning)), command.grace_seconds)
    except (OSError, ValueError) as error:
        final = isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError)
        raise ConnectionFailed(why_not_started(error, command), final=final) from error
    except asyncio.CancelledError:
        # It can't be called back any more, and must not be left when it is there. A thread ends it, which nobody can call back.
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, _discard, spawning))
        raise


def _discard(spawning: Future[Spawned]) -> None:
    """End one that nobody has spoken with."""
    if spawning.exception() is None:
        process = spawning.result()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class ServerProcess:
    def __init__(self, process: Spawned, grace_seconds: float) -> None:
        self._process = process
        self._grace_seconds = grace_seconds
        self._ended = asyncio.Event()
        self._buried = False
        self._seen: os.waitid_result | None = None
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        assert process.stdin is not None, "asked for"
        assert process.stdout is not None, "asked for"
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.stderr = process.stderr

    @property
    def pid(self) -> int:
        return self._process.pid

    def ending(self) -> str:
        """How it ended, for a person."""
        if not self._buried:
            # Looked at and not taken: while nobody has, its pid names its group and nothing else.
            self._seen = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
        seen = self._seen
        if seen is None:
            return "it closed its output and goes on"
        if seen.si_code == os.CLD_EXITED:
            return f"it exited with code {seen.si_status}"
        return f"it was killed by {_name(seen.si_status)}"

    async def ended(self) -> None:
        await self._ended.wait()

    async def end(self) -> None:
        """Its input is closed already: wait for it to end by itself, then TERM, then KILL, to its whole group. KILL at once where
        nobody waits any more."""
        try:
            await self._wait_for_end()
            # Also where it has ended: what it started may have outlived it.
            self._signal(signal.SIGKILL)
            await self._watching
        finally:
            if not self._buried:
                self._bury()

    def _bury(self) -> None:
        self._signal(signal.SIGKILL)
        self._seen = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self._buried = True
        self._process.wait()
        self._ended.set()

    async def _wait_for_end(self) -> None:
        for number in (None, signal.SIGTERM):
            if number is not None:
                self._signal(number)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._grace_seconds):
                    await self._ended.wait()
                return

    def _signal(self, number: signal.Signals) -> None:
        # Once it is buried its number may be somebody else's.
        if not self._buried:
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


def _name(number: int) -> str:
    """Most of the real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
