"""The guardian: a small process that outlives a hub by a moment, and ends whatever the hub's servers have left behind.

Run as a program by `guardian.py`; knows nothing of us. Its argument is what every process of these servers has in its
environment, and nobody else's has. It waits for the end of its input, which comes when the hub closes it or is dead.
"""

import contextlib
import os
import select
import signal
import sys

# One that does not die within so many looks hangs in the kernel.
_LOOKS = 100


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # It ends with the hub, and the hub is who hears these.
        signal.signal(number, signal.SIG_IGN)
    marker = os.fsencode(sys.argv[1])
    while os.read(0, 4096):
        pass
    for _ in range(_LOOKS):
        found = _marked(marker)
        if not found:
            return
        _kill(found)


def _kill(processes: list[int]) -> None:
    """Kill them, and wait until they are gone or a tenth of a second is over."""
    poll = select.poll()
    for process in processes:
        # Held before it is killed: a number alone could be somebody else's by then.
        with contextlib.suppress(OSError):
            held = os.pidfd_open(process)
            signal.pidfd_send_signal(held, signal.SIGKILL)
            poll.register(held, select.POLLIN)
    poll.poll(100)


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
    main()
