"""The nurse: a small process that starts shells for a large one. Run by `nursery.py` as a program; knows nothing of us.

To fork takes as long as a process is large: a few megabytes of interpreter are forked ten times as fast as a server. For
each byte that comes in on the socket a shell is started that waits for its script, and its pid goes back together with the
end of the pipe to it. When the socket closes, the nurse ends; shells that were never told anything end with their pipe.

With each shell it makes a cot, where it was told a place for them: a folder with the empty files of a run, which is only
renamed when there is a run to have it. To make files takes many times as long, and that is done while nobody waits.
"""

import contextlib
import ctypes
import os
import signal
import socket
import sys

_PR_SET_CHILD_SUBREAPER = 36
_FILES = ("in", "out", "err", "started", "exit")


def main() -> None:
    """Serve the socket on the descriptor that is the first argument. The second is the place for cots."""
    place = Place(sys.argv[2]) if len(sys.argv) > 2 else None
    try:
        serve(place)
    finally:
        if place is not None:
            place.close()


def serve(place: "Place | None") -> None:
    line = socket.socket(fileno=int(sys.argv[1]))
    libc = ctypes.CDLL(None, use_errno=True)
    # The kernel buries them: who follows a shell does so by its pidfd.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Ctrl-C is for the one who started us, and so is everything else that a terminal sends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    while wishes := _next(line):
        for _ in wishes:
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                _become_shell(libc, reading, nowhere)
            os.close(reading)
            given = _give(line, pid, place.next() if place is not None else "", writing)
            os.close(writing)
            if not given:
                return


def _next(line: socket.socket) -> bytes:
    """What is wished for; nothing once the other end is gone, also where it was killed with something unread."""
    try:
        return line.recv(64)
    except ConnectionResetError:
        return b""


class Place:
    """A folder of our own among those of others: one who was killed could not clear his away."""

    def __init__(self, folder: str) -> None:
        self._folder = f"{folder}/{os.getpid()}"
        self._count = 0
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
            for name in os.listdir(folder):
                if not os.path.exists(f"/proc/{name}"):
                    _remove(f"{folder}/{name}")
            os.mkdir(self._folder, 0o700)
        except OSError as error:
            # Whoever needs a folder then makes it itself, and hears what is wrong.
            sys.stderr.write(f"no folders are kept ready: {error}\n")

    def next(self) -> str:
        """A new cot; none where the disk is full."""
        self._count += 1
        cot = f"{self._folder}/{self._count}"
        try:
            os.mkdir(cot, 0o700)
            for name in _FILES:
                os.close(os.open(f"{cot}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except OSError:
            return ""
        return cot

    def close(self) -> None:
        _remove(self._folder)


def _remove(folder: str) -> None:
    """A folder of cots. What is not there any more became a run's."""
    for path, folders, files in os.walk(folder, topdown=False):
        for remove, names in ((os.unlink, files), (os.rmdir, folders)):
            for name in names:
                with contextlib.suppress(OSError):
                    remove(f"{path}/{name}")
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _give(line: socket.socket, pid: int, cot: str, pipe: int) -> bool:
    """Whether there is somebody to have it. Else it reads the end of its input, and ends."""
    try:
        socket.send_fds(line, [f"{pid} {cot}".encode("utf-8", "surrogateescape")], [pipe])
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def _become_shell(libc: ctypes.CDLL, reading: int, nowhere: int) -> None:
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        if hasattr(libc, "prctl"):
            # What the agent lets loose becomes the shell's child, not init's. The setting stays through exec.
            libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        os.dup2(reading, 0)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os.closerange(3, 64)
        os.execv("/bin/sh", ["/bin/sh"])  # noqa: S606 - it is a shell that is wanted
    finally:
        # Reached only where there is no shell.
        os._exit(127)


if __name__ == "__main__":
    main()
