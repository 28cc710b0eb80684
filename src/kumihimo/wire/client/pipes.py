"""How the event loop is given a pipe of a process."""

from __future__ import annotations

import asyncio
import os
from typing import IO


class Lent:
    """The end of a pipe that its loop closes by the number alone.

    uvloop closes what it was given twice, first the number and then the file. In between the system may give the number to
    another thread that starts a server or opens a database, and the second time closes what is theirs.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    def fileno(self) -> int:
        return self._number

    def close(self) -> None:
        """It is closed already."""


def given_to(loop: asyncio.AbstractEventLoop, pipe: IO[bytes]) -> IO[bytes] | Lent:
    """What the loop gets in the place of a pipe, which is its own from then on."""
    return lent(pipe) if type(loop).__module__.partition(".")[0] == "uvloop" else pipe


def lent(pipe: IO[bytes]) -> Lent:
    """OSError where that is not possible. The pipe itself is closed in any case."""
    with pipe:
        return Lent(os.dup(pipe.fileno()))
