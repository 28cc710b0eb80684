"""MCP on standard input and output, for the life of one process.

While every call is answered by a plain function there is nothing to wait for but the next message, so messages are
read and answered in a plain loop, and asyncio is not even imported. The first coroutine moves the conversation to
an event loop, where it stays.
"""

import _thread
import contextlib
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Coroutine, Generator
from contextlib import nullcontext
from types import FrameType
from typing import Any, Final, Self

from kumihimo.wire.conversation import Conversation, ParkedCall, Together
from kumihimo.wire.framing import Framing
from kumihimo.wire.server import Server

# As much as a pipe holds. More would be mapped and unmapped by the allocator for every message.
READ_BYTES: Final = 64 * 1024
# Fewer would wake the client more often than it has work to do, more would leave it without work: of 4, 8, 16, 32 and all,
# this was the fastest with a client that keeps 32 calls under way.
ANSWERS_AT_ONCE: Final = 16
MOST_MESSAGE_BYTES: Final = 16 * 1024 * 1024
INSIST_SECONDS: Final = 0.01

_ALONE: Final = nullcontext()
Background = Callable[[], Coroutine[Any, Any, None]]


def serve(
    server: Server,
    *,
    caller: Any = None,
    background: Background | None = None,
    together: Together = nullcontext,
    on_shutdown: Callable[[], None] | None = None,
    most_message_bytes: int = MOST_MESSAGE_BYTES,
    input_fd: int | None = None,
    output_fd: int | None = None,
) -> int:
    """Serve until the input ends or SIGTERM or SIGINT comes; returns the exit code, which is then 0.

    Calls that are under way are cancelled, at the end of the input after a moment in which they may be answered; then
    `on_shutdown` runs, whichever way it ends. `background` is a coroutine function that runs beside the calls (it makes
    the event loop start after the first answer). `together` is entered around the serving of messages that arrived in
    one piece. What handlers print goes to standard error, since standard output belongs to the protocol.
    """
    reader = 0 if input_fd is None else input_fd
    writer = _take_stdout() if output_fd is None else output_fd
    try:
        with _Signals() as signals, _non_blocking(writer):
            talk, framing = Conversation(server, caller), Framing(most_message_bytes)
            line = _PlainLoop(talk, framing, reader, writer, signals, together)
            line.run(until_first_answer=background is not None)
            if not line.finished:
                from kumihimo.wire.stdio_loop import run_loop

                run_loop(talk, framing, reader, writer, line.waiting, background, signals.has_come, together)
    finally:
        if output_fd is None:
            os.dup2(writer, 1)
            os.close(writer)
        if on_shutdown is not None:
            on_shutdown()
    return 0


def _take_stdout() -> int:
    """A private descriptor of standard output; number 1 becomes standard error, for whoever prints."""
    sys.stdout.flush()
    private = os.dup(1)
    os.dup2(2, 1)
    return private


@contextlib.contextmanager
def _non_blocking(writer: int) -> Generator[None, None, None]:
    """A pipe or socket is written without blocking, so that a signal is noticed while the client does not read."""
    mode = os.fstat(writer).st_mode
    blocking = os.get_blocking(writer)
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        os.set_blocking(writer, False)
    try:
        yield
    finally:
        os.set_blocking(writer, blocking)


class _Stopped(Exception):
    """A signal came while the client was waited for."""


class _Signals:
    """SIGTERM and SIGINT end the wait for the client instead of the process, inside the `with`.

    A signal that comes in the instant before a blocking call is noted by the interpreter only after that call, which
    may never return. So a thread hears of each signal through a pipe, and sends it again until it has been noted.
    That costs nothing per message; waiting for client and pipe together would cost a system call for each.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._closing = False
        self.came = False
        self.waiting = False
        """Set around calls that wait for the client: a signal then raises _Stopped."""

    def __enter__(self) -> Self:
        if _thread.get_ident() != _main_thread_ident():
            return self  # signals are the business of whoever has the main thread
        self._pipe, self._feed = os.pipe()
        os.set_blocking(self._feed, False)
        self._wakeup_before = signal.set_wakeup_fd(self._feed, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._note)
        self._insisting = _thread.allocate_lock()
        self._insisting.acquire()
        _thread.start_new_thread(self._insist, (_thread.get_ident(),))
        return self

    def __exit__(self, *exc: object) -> None:
        if not self._before:
            return
        self._closing = True
        signal.set_wakeup_fd(self._wakeup_before)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.write(self._feed, b"\0")
        self._insisting.acquire()
        os.close(self._pipe)
        os.close(self._feed)

    def has_come(self) -> bool:
        return self.came

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of a signal handler
        self.came = True
        if self.waiting:
            self.waiting = False
            raise _Stopped

    def _insist(self, main_thread: int) -> None:
        while not self._closing:
            numbers = os.read(self._pipe, 64)
            for number in (signal.SIGTERM, signal.SIGINT):
                while number in numbers and not (self.came or self._closing):
                    time.sleep(INSIST_SECONDS)
                    if not (self.came or self._closing):
                        signal.pthread_kill(main_thread, number)
        self._insisting.release()


def _main_thread_ident() -> int:
    """Without `threading`, which takes longer to load than it takes to answer."""
    threading = sys.modules.get("threading")
    return _thread.get_ident() if threading is None else threading.main_thread().ident


class _PlainLoop:
    """Read, answer, write; for as long as no call needs an event loop."""

    def __init__(
        self,
        conversation: Conversation,
        framing: Framing,
        reader: int,
        writer: int,
        signals: _Signals,
        together: Together,
    ) -> None:
        self.conversation = conversation
        self.framing = framing
        self.finished = False
        self.waiting: list[ParkedCall] = []
        """Calls that began here and wait for the event loop."""
        self._reader = reader
        self._writer = writer
        self._signals = signals
        self._together = together

    def run(self, *, until_first_answer: bool) -> None:
        """Serve until the input ends or a signal comes (`finished`), or an event loop is needed."""
        conversation, framing = self.conversation, self.framing
        outgoing: list[bytes] = []
        conversation.attach(outgoing.append, self._park)
        while True:
            data = self._read()
            if data is None:
                break
            messages = framing.take(data) if data else framing.end()
            with self._together() if len(messages) > 1 else _ALONE:
                for message in messages:
                    conversation.receive(message)
                    # The client can read on its own processor while we go on: not everything at the end.
                    if len(outgoing) >= ANSWERS_AT_ONCE and not self._flush(outgoing):
                        break
            if outgoing and not self._flush(outgoing):
                break
            if self.waiting or (until_first_answer and conversation.greeted):
                return
            if not data:
                break
        self.finished = True

    def _park(self, request_id: Any, call: Coroutine[Any, Any, bytes], framed: bool) -> None:
        parked = ParkedCall(request_id, call, framed)
        self.waiting.append(parked)
        if request_id is not None:
            self.conversation.calls[request_id] = parked

    def _read(self) -> bytes | None:
        """What the client sends next, nothing at the end of it, None when a signal came."""
        signals = self._signals
        try:
            while True:
                signals.waiting = True
                if signals.came:
                    return None
                try:
                    return os.read(self._reader, READ_BYTES)
                except BlockingIOError:
                    _wait(self._reader, select.POLLIN)
                except OSError:
                    return b""
                finally:
                    signals.waiting = False
        except _Stopped:
            return None

    def _flush(self, outgoing: list[bytes]) -> bool:
        data = b"".join(outgoing)
        outgoing.clear()
        return self._write(data)

    def _write(self, data: bytes) -> bool:
        """Write all; False where the client does not read any more. Nobody else waits, so waiting is right."""
        signals = self._signals
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._writer, view) :]
            except BlockingIOError:
                try:
                    signals.waiting = True
                    if signals.came:
                        return False
                    _wait(self._writer, select.POLLOUT)
                except _Stopped:
                    return False
                finally:
                    signals.waiting = False
            except OSError:
                return False
        return True


def _wait(descriptor: int, event: int) -> None:
    poll = select.poll()
    poll.register(descriptor, event)
    poll.poll()
