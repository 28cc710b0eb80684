"""A stdio conversation on an event loop: calls run beside each other, and a slow client holds up only itself."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any, Final

from kumihimo.wire.conversation import Conversation, ParkedCall, Together
from kumihimo.wire.framing import Framing, frame
from kumihimo.wire.server import Server

HIGH_WATER: Final = 1024 * 1024
"""With so many unsent bytes, no further message is read and no further notification is made."""
READ_BYTES: Final = 256 * 1024
LAST_ANSWERS_SECONDS: Final = 1.5
"""So long calls that came before the end of the input may take: clients wait for two seconds before they send a signal."""
_ALONE: Final = nullcontext()

Waiting = list[ParkedCall]


def run_loop(
    conversation: Conversation,
    framing: Framing,
    reader: int,
    writer: int,
    waiting: Waiting,
    background: Callable[[], Coroutine[Any, Any, None]] | None = None,
    stopped: Callable[[], bool] = lambda: False,
    together: Together = nullcontext,
) -> None:
    """Continue a conversation on an event loop, until the input ends or a signal comes (or came: `stopped`)."""
    asyncio.run(_Line(conversation, framing, reader, writer, together).run(waiting, background, stopped))


async def serve_stdio(server: Server, *, caller: Any = None, most_message_bytes: int, reader: int, writer: int) -> None:
    """Serve a line from inside an event loop that is already there; ends as `stdio.serve` does."""
    line = _Line(Conversation(server, caller), Framing(most_message_bytes), reader, writer, nullcontext)
    await line.run([], None, lambda: False)


class _Output:
    """Writes what there is in as few system calls as it takes, and remembers what the client has not taken yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop, writer: int, on_gone: Callable[[], None]) -> None:
        self._loop = loop
        self._writer = writer
        self._on_gone = on_gone
        self._pending: list[bytes] = []
        self._size = 0
        self._scheduled = False
        self._blocked = False
        self._gone = False
        self._room = asyncio.Event()
        self._room.set()
        self.on_room: Callable[[], None] = lambda: None

    @property
    def full(self) -> bool:
        return self._size >= HIGH_WATER

    def write(self, data: bytes) -> None:
        if self._gone:
            return
        self._pending.append(data)
        self._size += len(data)
        if self._size >= HIGH_WATER:
            self._room.clear()
        if not self._scheduled and not self._blocked:
            self._scheduled = True
            self._loop.call_soon(self.flush)

    async def room(self) -> None:
        await self._room.wait()

    def flush(self) -> None:
        """Write until nothing is left or the client takes no more for now."""
        self._scheduled = False
        if self._blocked or not self._pending:
            return
        data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        self._pending.clear()
        try:
            written = os.write(self._writer, data)
        except BlockingIOError:
            written = 0
        except OSError:
            self._gone = True
            self._size = 0
            self._room.set()
            self._on_gone()
            return
        self._size -= written
        if written < len(data):
            self._pending.append(data[written:])
            self._wait()
        elif self._size < HIGH_WATER and not self._room.is_set():
            self._room.set()
            self.on_room()

    def _wait(self) -> None:
        self._blocked = True
        self._loop.add_writer(self._writer, self._writable)

    def _writable(self) -> None:
        self._loop.remove_writer(self._writer)
        self._blocked = False
        self.flush()

    async def finish(self, seconds: float) -> None:
        """Give the last answers a chance to get out."""
        try:
            async with asyncio.timeout(seconds):
                while self._pending and not self._gone:
                    self.flush()
                    await asyncio.sleep(0.005 if self._blocked else 0)
        except TimeoutError:
            return


class _Running:
    """A call that runs on the loop."""

    __slots__ = ("_loop", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
        self._loop = loop
        self.task = task

    def cancel(self) -> None:
        """A call that has not begun yet begins first: only then can it be told, and clean up."""
        self._loop.call_soon(self.task.cancel)


class _Line:
    def __init__(
        self, conversation: Conversation, framing: Framing, reader: int, writer: int, together: Together
    ) -> None:
        self._conversation = conversation
        self._together = together
        self._framing = framing
        self._reader = reader
        self._writer = writer
        self._done = asyncio.Event()
        self._reading = False
        self._ending: asyncio.Task[None] | None = None

    async def run(
        self,
        waiting: Waiting,
        background: Callable[[], Coroutine[Any, Any, None]] | None,
        stopped: Callable[[], bool],
    ) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._output = _Output(loop, self._writer, self._done.set)
        self._output.on_room = self._caught_up
        conversation = self._conversation
        conversation.attach(self._output.write, self._start)
        conversation.drained = self._output.room
        conversation.crowded = lambda: self._output.full
        blocking = {fd: os.get_blocking(fd) for fd in (self._reader, self._writer)}
        os.set_blocking(self._writer, False)
        self._handle_signals()
        beside = None if background is None else loop.create_task(background())
        try:
            for parked in waiting:
                self._start(parked.request_id, parked.call, parked.framed)
                if parked.cancelled:
                    conversation.calls[parked.request_id].cancel()
            self._open()
            if not stopped():
                await self._done.wait()
        finally:
            conversation.server.changes.closing = True
            await self._cancel(beside)
            conversation.close()
            await self._output.finish(1.0)
            if self._reading:
                self._pause()
            for fd, value in blocking.items():
                os.set_blocking(fd, value)

    async def _cancel(self, beside: asyncio.Task[None] | None) -> None:
        # Calls that came with the end of the input have not begun yet: they begin, and are told.
        await asyncio.sleep(0)
        tasks: list[asyncio.Task[None]] = [call.task for call in self._conversation.calls.values()]
        if beside is not None:
            tasks.append(beside)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _handle_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._loop.add_signal_handler(number, self._done.set)

    def _open(self) -> None:
        """Read as data comes; a regular file, which cannot be waited for, is read by a thread."""
        try:
            self._resume()
        except (PermissionError, ValueError):
            threading.Thread(target=self._read_file, daemon=True).start()

    def _caught_up(self) -> None:
        self._conversation.release()
        self._resume()

    def _resume(self) -> None:
        if not self._reading and not self._done.is_set():
            self._loop.add_reader(self._reader, self._readable)
            self._reading = True

    def _pause(self) -> None:
        self._loop.remove_reader(self._reader)
        self._reading = False

    def _readable(self) -> None:
        try:
            data = os.read(self._reader, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._take(data)
        if self._output.full and self._reading:
            self._pause()

    def _take(self, data: bytes) -> None:
        messages = self._framing.take(data) if data else self._framing.end()
        with self._together() if len(messages) > 1 else _ALONE:
            for message in messages:
                self._conversation.receive(message)
        self._output.flush()
        if not data:
            self._ending = self._loop.create_task(self._end())
            if self._reading:
                self._pause()

    async def _end(self) -> None:
        """Nothing more is asked. What was asked before is answered where that does not take long: who pipes a few messages in
        has closed the pipe before we come to them."""
        calls: list[asyncio.Task[None]] = [call.task for call in self._conversation.calls.values()]
        if calls:
            await asyncio.wait(calls, timeout=LAST_ANSWERS_SECONDS)
        self._done.set()

    def _read_file(self) -> None:
        while True:
            data = os.read(self._reader, READ_BYTES)
            self._loop.call_soon_threadsafe(self._take, data)
            if not data:
                return

    def _start(self, request_id: Any, call: Coroutine[Any, Any, bytes], framed: bool) -> None:
        key = request_id if request_id is not None else f"batch {id(call)}"
        self._conversation.calls[key] = _Running(self._loop, self._loop.create_task(self._finish(key, call, framed)))

    async def _finish(self, key: Any, call: Coroutine[Any, Any, bytes], framed: bool) -> None:
        try:
            self._output.write(frame(await call, framed=framed))
        finally:
            del self._conversation.calls[key]
