"""Ends whatever a hub's servers have left behind: called by a hub that ends, and run as a program after one that was killed.

Knows nothing of us. Its argument is what every process of these servers has in its environment, and nobody else's has.
"""

import contextlib
import os
import select
import signal
import sys
import time

# One that does not die within so many looks hangs in the kernel.
_LOOKS = 100
_SECONDS = 0.1
# A process that was just being started when the hub was killed has its mark only when it has become another program.
_TIMES = 5


def end_marked(marker: bytes) -> None:
    for _ in range(_LOOKS):
        found = _marked(marker)
        if not found:
            return
        _kill(found)


def _kill(processes: list[int]) -> None:
    """Kill them, and wait until they are gone or a tenth of a second is over."""
    poll, waited_for = select.poll(), 0
    with contextlib.ExitStack() as stack:
        for process in processes:
            # Held before it is killed: a number alone could be somebody else's by then.
            with contextlib.suppress(OSError):
                held = os.pidfd_open(process)
                stack.callback(os.close, held)
                signal.pidfd_send_signal(held, signal.SIGKILL)
                poll.register(held, select.POLLIN)
                waited_for += 1
        until = time.monotonic() + _SECONDS
        # All of them: one that is about to end is no longer found by its environment.
        while waited_for and (left := until - time.monotonic()) > 0:
            for held, _ in poll.poll(left * 1000):
                poll.unregister(held)
                waited_for -= 1


def _marked(marker: bytes) -> list[int]:
    mine = str(os.getpid())
    found: list[int] = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to load, and nothing else needs it here
        if name.isdigit() and name != mine:
            try:
                with open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123
                    if marker in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                # It is gone, or another user's.
                continue
    return found


if __name__ == "__main__":
    # Signals are ignored as they were by the shell that this was: it ends when all others have.
    for _ in range(_TIMES):
        end_marked(os.fsencode(sys.argv[1]))
        time.sleep(0.1)
