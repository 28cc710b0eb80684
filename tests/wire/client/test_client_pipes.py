"""The pipes of a server are closed once, and nobody else's with them."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kumihimo.wire.client import pipes, stdio
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ConnectionFailed
from tests.wire.client.client_kit import US, ours_on_stdio, run


class Neighbour:
    """Somebody who opens files where numbers may have just become free: as another thread may between the two times that
    uvloop closes what it was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.visits = 0
        self.lost: list[int] = []
        monkeypatch.setattr(stdio, "given_to", lambda loop, pipe: _Beside(pipes.given_to(loop, pipe), self))

    @contextlib.contextmanager
    def there(self, number: int) -> Iterator[None]:
        self.visits += 1
        files = [os.open(os.devnull, os.O_RDONLY)]
        while files[-1] < number:
            # The lowest that is free is taken.
            files.append(os.open(os.devnull, os.O_RDONLY))
        yield
        for file in files:
            try:
                os.close(file)
            except OSError:
                self.lost.append(file)


class _Beside:
    def __init__(self, given: Any, neighbour: Neighbour) -> None:
        self._given = given
        self._neighbour = neighbour
        self._number = given.fileno()

    def fileno(self) -> int:
        return self._number

    def close(self) -> None:
        with self._neighbour.there(self._number):
            self._given.close()


def test_who_opens_something_while_a_session_ends_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    neighbour = Neighbour(monkeypatch)

    async def test() -> None:
        async with await connect(ours_on_stdio(), US) as session:
            await session.call_tool("add", {"a": 1, "b": 1})

    run(test())
    assert (neighbour.visits, neighbour.lost) == (3, [])


def test_pipes_that_the_loop_does_not_take_are_a_failed_connection_and_leave_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: int) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(os, "dup", refuse)
    monkeypatch.setattr(stdio, "given_to", lambda _, pipe: pipes.lent(pipe))

    async def test() -> None:
        with pytest.raises(ConnectionFailed, match="Too many open files"):
            await connect(ours_on_stdio(), US)

    run(test())
    assert len(list(Path("/proc/self/fd").iterdir())) == before
