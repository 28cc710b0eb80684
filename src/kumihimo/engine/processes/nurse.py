"""The nurse: a small process that starts shells for a large one. Run by `nursery.py` as a program; knows nothing of us.

To fork takes as long as a process is large: a few megabytes of interpreter are forked ten times as fast as a server. For
each byte that comes in on the socket a shell is started that waits for its script, and its pid goes back together with the
end of the pipe to it. When the socket closes, the nurse ends; shells that were never told anything end with their pipe.
"""

import ctypes
import os
import signal
import socket
import sys

_PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Serve the socket on the descriptor that is the first argument."""
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
            given = _give(line, pid, writing)
            os.close(writing)
            if not given:
                return


def _next(line: socket.socket) -> bytes:
    """What is wished for; nothing once the other end is gone, also where it was killed with something unread."""
    try:
        return line.recv(64)
    except ConnectionResetError:
        return b""


def _give(line: socket.socket, pid: int, pipe: int) -> bool:
    """Whether there is somebody to have it. Else it reads the end of its input, and ends."""
    try:
        socket.send_fds(line, [str(pid).encode()], [pipe])
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
