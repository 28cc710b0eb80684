"""Drives a server over its pipes: plain reads and writes, so many requests in flight, nothing decoded."""

from __future__ import annotations

import os
import subprocess
import time
from itertools import cycle, islice
from pathlib import Path
from types import TracebackType
from typing import Self

from driving.messages import INITIALIZE, INITIALIZED, require_good
from driving.processes import Usage, resident_megabytes, usage

_READ_BYTES = 1 << 18


class StdioServer:
    """A running server and its line."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: Path, *, quiet: bool = False) -> None:
        """`quiet`: what it complains about is not shown."""
        started = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            cwd=folder,
            env=environment,
            bufsize=0,
        )
        assert self.process.stdin
        assert self.process.stdout
        self._writer = self.process.stdin.fileno()
        self._reader = self.process.stdout.fileno()
        require_good(self.ask(INITIALIZE))
        self.start_milliseconds = (time.perf_counter() - started) * 1000
        self.megabytes = resident_megabytes(self.process.pid)
        os.write(self._writer, INITIALIZED + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def ask(self, message: bytes) -> bytes:
        """One request and its answer."""
        os.write(self._writer, message + b"\n")
        answer = b""
        while not answer.endswith(b"\n"):
            answer += self._read()
        return answer

    def rate(self, calls: list[bytes], in_flight: int, seconds: float) -> Usage:
        """Calls that were answered in a second, and what they cost the server."""
        require_good(self.ask(calls[0]))
        waiting = cycle(message + b"\n" for message in calls)
        before, started = usage(self.process.pid), time.perf_counter()
        deadline = started + seconds
        os.write(self._writer, b"".join(islice(waiting, in_flight)))
        answered, under_way = 0, in_flight
        while under_way:
            data = self._read()
            if b'"isError":true' in data or b'"error":{' in data:
                raise RuntimeError(f"a call failed: {data[:400]!r}")
            done = data.count(b"\n")
            answered += done
            if time.perf_counter() < deadline:
                if done:
                    os.write(self._writer, b"".join(islice(waiting, done)))
            else:
                under_way -= done
        took = time.perf_counter() - started
        return Usage(answered / took, (usage(self.process.pid) - before) * 1e6 / answered)

    def _read(self) -> bytes:
        data = os.read(self._reader, _READ_BYTES)
        if not data:
            raise EOFError(f"the server has gone with {self.process.wait()}")
        return data
