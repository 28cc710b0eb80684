"""The nursery: shells that are kept ready to become wrappers, so that an agent starts as soon as it is asked for.

To start a process takes a large program like ours several milliseconds; to tell a waiting shell what to do takes none.
A shell that is not needed costs 0.2 MB and ends by itself when we do. They are started by a small process, the nurse.
"""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
from collections import deque
from pathlib import Path

from kumihimo.engine.processes import identity
from kumihimo.engine.processes.wrapper import MARKER, NURSERY

_NURSE = Path(__file__).with_name("nurse.py")
_PATIENCE_SECONDS = 10.0
_LOW = 2
# A number and a path.
_LONGEST_TOLD = 8192


class Shell:
    """A shell that waits for its script. `pidfd` becomes readable when it has ended."""

    def __init__(self, pid: int, pipe: int) -> None:
        self.pid = pid
        self._pipe = pipe
        self.pidfd = os.pidfd_open(pid)
        found = identity.of(pid)
        if found is None:
            os.close(self.pidfd)
            raise ProcessLookupError(pid)
        # Looked up while it waits: a shell would read it from the kernel byte by byte while its agent waits.
        self._identity = f"identity='{found.boot_id} {found.pid} {found.start_ticks}'\n".encode()

    def tell(self, script: bytes) -> bool:
        """What to run. False where it has ended before it was told."""
        left = memoryview(self._identity + script)
        try:
            while left:
                left = left[os.write(self._pipe, left) :]
        except BrokenPipeError:
            os.close(self.pidfd)
            return False
        finally:
            os.close(self._pipe)
        return True

    def close(self) -> None:
        """It reads the end of its input, and ends."""
        os.close(self._pipe)
        os.close(self.pidfd)


class Nursery:
    """`cots` is where folders for runs are kept ready as well; they have to be renamed to where the runs are."""

    def __init__(self, size: int, cots: Path | None = None) -> None:
        self._size = size
        self._place = cots
        self._cots: deque[str] = deque()
        self._ready: deque[Shell] = deque()
        self._asked = 0
        self._line: socket.socket | None = None
        self._nurse: subprocess.Popen[bytes] | None = None

    def launch(self, script: bytes) -> Shell:
        """A shell that has been told to run the script. OSError where there is no shell to be had."""
        if not self._ready:
            # Else those that have come meanwhile are taken in when there is time: each costs a look at who it is.
            self._receive(0.0)
        while True:
            if not self._ready:
                self._ask(1)
                self._receive(_PATIENCE_SECONDS)
            shell = self._ready.popleft()
            if shell.tell(script):
                return shell

    def furnish(self, folder: Path) -> bool:
        """Let a folder that was kept ready become this one, with its files in it. False where there is none, or this one is
        there: then whoever needs it makes it."""
        while self._cots:
            try:
                os.rename(self._cots[0], folder)  # noqa: PTH104 - on the way of every start
            except FileNotFoundError:
                if not folder.parent.is_dir():
                    return False
                # The nurse that made it was killed, and the next has cleared it away.
                self._cots.popleft()
            except OSError:
                return False
            else:
                self._cots.popleft()
                return True
        return False

    @property
    def full(self) -> bool:
        return len(self._ready) + self._asked >= self._size

    @property
    def low(self) -> bool:
        return len(self._ready) + self._asked < _LOW

    def refill(self, most: int | None = None) -> None:
        """Ask for as many as are missing, or for some of them; they come by themselves."""
        self._receive(0.0)
        missing = self._size - len(self._ready) - self._asked
        self._ask(missing if most is None else min(most, missing))

    def close(self) -> None:
        while self._ready:
            self._ready.popleft().close()
        self._dismiss()

    def _ask(self, count: int) -> None:
        if count <= 0:
            return
        line = self._line or self._employ()
        try:
            line.send(b"." * count)
        except OSError:
            # It was killed. Another one is employed, and asked again for everything.
            self._dismiss()
            line = self._employ()
            line.send(b"." * count)
        self._asked += count

    def _receive(self, seconds: float) -> None:
        """Take in what has come; wait for the first one so long. OSError where none comes."""
        while self._asked and self._line is not None:
            if not _readable(self._line, seconds):
                if seconds:
                    raise OSError("no shell could be started in time")
                return
            try:
                told, pipes, _, _ = socket.recv_fds(self._line, _LONGEST_TOLD, 1)
            except ConnectionResetError:
                told, pipes = b"", []
            if not told:
                self._dismiss()
                if not seconds:
                    return
                self._ask(1)
                continue
            self._asked -= 1
            seconds = 0.0
            pid, _, cot = told.decode("utf-8", "surrogateescape").partition(" ")
            if cot:
                self._cots.append(cot)
            self._keep(int(pid), pipes[0])

    def _keep(self, pid: int, pipe: int) -> None:
        try:
            os.set_inheritable(pipe, False)
            self._ready.append(Shell(pid, pipe))
        except ProcessLookupError:
            os.close(pipe)

    def _employ(self) -> socket.socket:
        # Each message is one shell: a stream would run them together.
        environment = {**{name: value for name, value in os.environ.items() if name != MARKER}, NURSERY: "1"}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._nurse = subprocess.Popen(
            [
                sys.executable,
                "-I",
                "-S",
                str(_NURSE),
                str(theirs.fileno()),
                *([str(self._place)] if self._place else []),
            ],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env=environment,
            start_new_session=True,
        )
        theirs.close()
        self._line = ours
        return ours

    def _dismiss(self) -> None:
        self._asked = 0
        # It clears away what nobody took, as does the next one where it was killed.
        self._cots.clear()
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._nurse is not None:
            self._nurse.wait()
            self._nurse = None


def _readable(line: socket.socket, seconds: float) -> bool:
    # Not select(): that knows only the first 1,024 descriptors.
    poll = select.poll()
    poll.register(line, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
