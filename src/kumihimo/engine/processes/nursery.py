"""The nursery: shells that are kept ready to become wrappers, so that an agent starts as soon as it is asked for.

To start a process takes a large program like ours several milliseconds; to tell a waiting shell what to do takes none.
A shell that is not needed costs 0.2 MB and ends by itself when we do.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections import deque

_PR_SET_CHILD_SUBREAPER = 36


class Nursery:
    def __init__(self, size: int) -> None:
        self._size = size
        self._ready: deque[subprocess.Popen[bytes]] = deque()

    def launch(self, script: bytes) -> subprocess.Popen[bytes]:
        """A shell that has been told to run the script. OSError where there is no shell to be had."""
        while self._ready:
            shell = self._ready.popleft()
            if self._tell(shell, script):
                return shell
        shell = _spawn()
        if not self._tell(shell, script):
            raise OSError("the shell ended before it was told anything")
        return shell

    def refill(self, limit: int = 1) -> bool:
        """Make some ready, a few at a time. True while there is more to do."""
        for _ in range(limit):
            if len(self._ready) >= self._size:
                return False
            self._ready.append(_spawn())
        return len(self._ready) < self._size

    def close(self) -> None:
        """Those that were never told anything read the end of their input and end."""
        while self._ready:
            shell = self._ready.popleft()
            assert shell.stdin is not None, "made with a pipe"
            shell.stdin.close()
            shell.wait()

    def _tell(self, shell: subprocess.Popen[bytes], script: bytes) -> bool:
        assert shell.stdin is not None, "made with a pipe"
        try:
            shell.stdin.write(script)
            shell.stdin.close()
        except BrokenPipeError:
            shell.wait()
            return False
        return True


def _spawn() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_adopt_orphans if _libc is not None else None,
    )


def _load_libc() -> ctypes.CDLL | None:
    try:
        found = ctypes.CDLL(None, use_errno=True)
    except OSError:
        return None
    return found if hasattr(found, "prctl") else None


_libc = _load_libc()


def _adopt_orphans() -> None:
    """Runs in the new process, before the shell: what the agent lets loose becomes the shell's child, not init's.

    The setting stays through exec, so the shell, which knows nothing of it, has it too.
    """
    assert _libc is not None, "asked for only where it is there"
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
