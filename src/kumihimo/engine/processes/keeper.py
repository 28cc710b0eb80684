"""The keeper: a small process around one command that leaves nothing of it behind. Run by `checks.py` as a program; knows
nothing of us.

Whatever the command lets loose becomes the keeper's child. It writes to the socket that is its standard input how the
command ended, and ends by itself when nothing of it is left. When the socket closes, because it is told to or because
whoever started it is dead, it kills everything.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36
# What does not die within so long hangs in the kernel. A time and no number of looks: who starts others all the time ends each
# look at once.
_SECONDS = 10.0


def main() -> None:
    """Run the shell command that is the first argument."""
    line = socket.socket(fileno=os.dup(0))
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "prctl"):
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, _note)
    command = os.fork()
    if command == 0:
        _become_shell(sys.argv[1])
    # The outputs are the command's alone: they close with the last process of it.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    _keep(command, line, reading)


def _note(number: int, frame: object) -> None:
    """A signal that is handled wakes up who polls; one that is ignored does not."""


def _become_shell(command: str) -> None:
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number in (signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.execv("/bin/sh", ["/bin/sh", "-c", command])  # noqa: S606 - it is a shell that is wanted
    finally:
        # Reached only where there is no shell.
        os._exit(127)


def _keep(command: int, line: socket.socket, ends: int) -> None:
    poll = select.poll()
    poll.register(line, select.POLLIN)
    poll.register(ends, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if line.fileno() in ready:
            _end_everything(ends)
            return
        os.read(ends, 65536)
        if not _bury(command, line):
            return


def _bury(command: int, line: socket.socket) -> bool:
    """Everything that has ended. False where no child is left."""
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == command:
                # Where nobody listens any more, the socket says so by its end.
                with contextlib.suppress(OSError):
                    line.send(b"%d" % os.waitstatus_to_exitcode(found[1]))
    except ChildProcessError:
        return False
    return True


def _end_everything(ends: int) -> None:
    """What a killed process had started becomes our child in its turn, until there is none."""
    poll = select.poll()
    poll.register(ends, select.POLLIN)
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if poll.poll(100):
            os.read(ends, 65536)


def _children() -> list[int]:
    mine = str(os.getpid()).encode()
    found: list[int] = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to load, and nothing else needs it here
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    stat = file.read()
            except OSError:
                continue
            if stat[stat.rindex(b")") + 2 :].split(None, 2)[1] == mine:
                found.append(int(name))
    return found


if __name__ == "__main__":
    main()
