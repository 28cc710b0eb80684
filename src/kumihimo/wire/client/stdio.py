"""A server on stdio: lines of JSON to its input and from its output, many calls under way at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from typing import IO

from kumihimo.wire.client.call import Call, OnReady
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import ConnectionFailed, ConnectionLost
from kumihimo.wire.client.lines import Lines
from kumihimo.wire.client.pipes import Lent, given_to
from kumihimo.wire.client.process import ServerProcess, start
from kumihimo.wire.client.room import Room
from kumihimo.wire.client.targets import Command
from kumihimo.wire.revision import Revision

_KEPT_ERRORS = 8192


class _Reading(asyncio.Protocol):
    def __init__(self, carrier: StdioCarrier) -> None:
        self._carrier = carrier

    def data_received(self, data: bytes) -> None:
        self._carrier.hear(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the base class's signature
        self._carrier.lost()


# With so few calls under way each is written by itself.
_FEW = 2


class _Errors(asyncio.Protocol):
    """The last words of the server."""

    def __init__(self) -> None:
        self.kept = b""
        self.over = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.kept = (self.kept + data)[-_KEPT_ERRORS:]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the base class's signature
        self.over.set()


class StdioCarrier:
    mirrors = False
    piped = True

    def __init__(self, command: Command, dialogue: Dialogue) -> None:
        self._command = command
        self._dialogue = dialogue
        self._lines = Lines(command.most_bytes, self._too_long)
        self._writing = Room()
        self._loop = asyncio.get_running_loop()
        self._outgoing: list[bytes] = []
        # What the server has not read of that which we had to answer at once.
        self._owed = 0
        self._errors = _Errors()
        self._process: ServerProcess | None = None
        # Its pipes that are not the loop's yet.
        self._loose: list[IO[bytes]] = []
        self._writer: asyncio.WriteTransport | None = None
        self._readers: list[asyncio.ReadTransport] = []
        self._lost: str | None = None
        self._telling: asyncio.Task[None] | None = None
        self._closing = False

    async def open(self) -> None:
        """Start the server. It is heard from the first call on."""
        self._process = process = await start(self._command)
        self._loose += [pipe for pipe in (process.stdin, process.stdout, process.stderr) if pipe is not None]

    async def _begin(self, process: ServerProcess, call: Call) -> None:
        """Send the first call. It waits in the pipe for a server that is just starting, which then need not be woken for it;
        and of many that are started together each has its call before the first of them is heard."""
        # Nobody may interrupt it meanwhile: a server with half of its pipes is none.
        call.sent = True
        written = len(call.body) < select.PIPE_BUF
        if written:
            # Where the server has ended already its output has, too, and that tells how.
            with contextlib.suppress(BrokenPipeError):
                os.write(process.stdin.fileno(), call.body + b"\n")
        self._writer, _ = await self._loop.connect_write_pipe(lambda: self._writing, self._next_pipe())
        for protocol in (_Reading(self), self._errors)[: len(self._loose)]:
            reader, _ = await self._loop.connect_read_pipe(lambda protocol=protocol: protocol, self._next_pipe())
            self._readers.append(reader)
        call.sent = written

    def _next_pipe(self) -> IO[bytes] | Lent:
        return given_to(self._loop, self._loose.pop(0))

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def errors(self) -> str:
        """The end of what the server wrote to stderr, where that is kept."""
        return self._errors.kept.decode("utf-8", "replace")

    @property
    def ready(self) -> bool:
        unwell = self._lost is not None or self._telling is not None or self._writer is None
        return not (unwell or self._writing.closed or self._writing.crowded)

    async def send(self, call: Call) -> None:
        if self._loose and self._process is not None:
            try:
                await self._begin(self._process, call)
            except OSError as error:
                raise ConnectionFailed(f"its pipes can't be used: {error.strerror or error}") from error
            if call.sent:
                return
        if self._writing.crowded:
            await self._writing.room()
        if self._telling is not None:
            # Not awaited itself: who stops waiting here must not call it off for all others.
            await asyncio.wait((self._telling,))
        if self._lost is not None or self._writing.closed or self._writer is None:
            raise ConnectionFailed(self._lost or "the server takes no more input")
        if call.over:
            return
        call.sent = True
        self.post(call.body)

    def post(self, message: bytes) -> None:
        """What is sent in one turn of the loop is written in one piece, and wakes the server once; unless there is little to
        write at all, which then need not wait for the end of the turn."""
        self._outgoing.append(message)
        if len(self._dialogue.calls) <= _FEW:
            self._flush()
        elif len(self._outgoing) == 1:
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        messages, self._outgoing = self._outgoing, []
        if messages and self._writer is not None and not (self._writing.closed or self._writer.is_closing()):
            self._writer.write(b"\n".join((*messages, b"")))

    async def tell(self, message: bytes) -> None:
        self.post(message)
        self._flush()
        await self._writing.room()

    def abandon(self, call: Call) -> None:
        if call.sent and call.can_be_cancelled:
            self.post(call.cancellation)

    def agree(self, revision: Revision | None) -> None:
        """A pipe has no headers."""

    async def renew(self) -> None:
        """A pipe has no session besides itself."""

    async def listen(self, on_ready: OnReady) -> None:
        """Everything comes by the one pipe: this ends with it."""
        on_ready()
        if self._process is not None:
            await self._process.ended()

    async def close(self) -> None:
        self._closing = True
        self._lost = self._lost or "the session was closed"
        self._flush()
        if self._writer is not None:
            self._writer.close()
        for pipe in self._loose:
            pipe.close()
        try:
            if self._process is not None:
                await self._process.end()
            if self._telling is not None:
                await asyncio.wait((self._telling,))
        finally:
            for reader in self._readers:
                reader.close()
            self._fail_calls()

    def hear(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if line and not line.isspace():
                self._dialogue.hear(line, self._reply)

    def _reply(self, message: bytes) -> None:
        """Questions are answered whether there is room or not."""
        if self._lost is not None:
            return
        self._owed = self._owed + len(message) if self._writing.crowded else 0
        if self._owed > self._command.most_bytes:
            self._lost = "the server does not read what it is sent"
            self._fail_calls()
            self._telling = self._loop.create_task(self._give_up())
        else:
            self.post(message)

    async def _give_up(self) -> None:
        """What has to be read yet is worth nothing."""
        if self._writer is not None:
            self._writer.abort()
        for reader in self._readers:
            reader.close()
        if self._process is not None:
            await self._process.end()

    def _too_long(self, beginning: bytes, end: bytes) -> None:
        self._dialogue.hear_too_long(beginning, end, self._command.most_bytes)

    def lost(self) -> None:
        """Its output has ended: nothing will be answered any more."""
        if self._lost is None:
            self._lost = "the server closed its output"
        if self._telling is None:
            self._telling = self._loop.create_task(self._tell_why())

    async def _tell_why(self) -> None:
        """A process that dies closes its output a moment before it can be known how it ended."""
        if self._process is not None and not self._closing:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._command.grace_seconds):
                    await self._process.ended()
                    if self._process.stderr is not None:
                        await self._errors.over.wait()
            last = self.errors.strip().splitlines()[-1:]
            self._lost = ": ".join([f"the server is gone, {self._process.ending()}", *(line[:300] for line in last)])
        self._fail_calls()

    def _fail_calls(self) -> None:
        reason = self._lost or "the server is gone"
        self._dialogue.fail_all(lambda call: ConnectionLost(reason, delivered=call.sent))
