"""A line to a PostgreSQL that a test can cut, at exactly the COMMIT too."""

from __future__ import annotations

import re
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

# `unsent`: the COMMIT never reaches the server, which sees the end of the line. `swallowed`: nor that: it waits for ever.
# `unheard`: the COMMIT was done, and its answer is lost. `hung up`: the line ends while the server is still busy with it.
Cut = Literal["unsent", "swallowed", "unheard", "hung up"]


class Line:
    """Listens on 127.0.0.1 and passes everything on to a server, until told otherwise."""

    def __init__(self, target: str | tuple[str, int]) -> None:
        self.target = target
        self.cut: Cut | None = None
        self.commits_cut = 0
        self.refusing = False
        self._meanwhile: Callable[[], object] = lambda: None
        self._calls: list[_Call] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, database: str, user: str = "postgres", more: str = "") -> str:
        """The URL of a database of the server, by way of this line."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{name_of(database)}?sslmode=disable&gssencmode=disable{more}"

    def cut_next_commit(self, how: Cut, meanwhile: Callable[[], object] = lambda: None) -> None:
        """`meanwhile` is done after the cut, before anybody gets a new connection."""
        self.cut, self._meanwhile = how, meanwhile

    def cut_all(self) -> None:
        for call in self._calls:
            call.end()
        self._calls.clear()

    def close(self) -> None:
        _end(self._listener)
        self.cut_all()

    def at_commit(self, call: _Call, message: bytes) -> None:
        how, self.cut, self.refusing = self.cut, None, True
        if how in ("unheard", "hung up"):
            call.muted = True
            call.server.sendall(message)
        if how == "unheard":
            assert call.answered.wait(30)
        if how in ("unheard", "unsent"):
            _end(call.server)
        self.commits_cut += 1
        _end(call.client)
        self._meanwhile()
        self.refusing = False

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = None if self.refusing else _connect(self.target)
                if server is None:
                    _end(client)
                else:
                    self._calls.append(_Call(self, client, server))


class _Call:
    """One connection: a socket to each side, and a thread for each direction."""

    def __init__(self, line: Line, client: socket.socket, server: socket.socket) -> None:
        self._line, self.client, self.server = line, client, server
        self.muted = False
        self.answered = threading.Event()
        for work in (self._carry_up, self._carry_down):
            threading.Thread(target=work, daemon=True).start()

    def end(self) -> None:
        _end(self.client)
        _end(self.server)

    def _carry_up(self) -> None:
        """Message by message. The first one has no kind."""
        with suppress(OSError, EOFError):
            self.server.sendall(_message(self.client, b""))
            while True:
                message = _message(self.client, _exactly(self.client, 1))
                if self._commits(message) and self._line.cut:
                    return self._line.at_commit(self, message)
                self.server.sendall(message)
        _end(self.server)
        return None

    def _commits(self, message: bytes) -> bool:
        """Whether it is a COMMIT, or ends with one."""
        return message[:1] == b"Q" and message.endswith(b"COMMIT\0")

    def _carry_down(self) -> None:
        with suppress(OSError):
            while data := self.server.recv(65536):
                if not self.muted:
                    self.client.sendall(data)
                elif b"COMMIT" in data:
                    self.answered.set()
        _end(self.client)


def _connect(target: str | tuple[str, int]) -> socket.socket | None:
    made = socket.socket(socket.AF_UNIX if isinstance(target, str) else socket.AF_INET)
    try:
        made.connect(target)
    except OSError:
        made.close()
        return None
    return made


def _message(client: socket.socket, kind: bytes) -> bytes:
    size = _exactly(client, 4)
    return kind + size + _exactly(client, struct.unpack("!I", size)[0] - 4)


def _exactly(client: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        some = client.recv(count - len(found))
        if not some:
            raise EOFError
        found += some
    return found


def _end(end: socket.socket) -> None:
    # Also for who is waiting for something from it: to close it would not wake them.
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def name_of(database: str) -> str:
    return database.partition("?")[0].rpartition("/")[2]


def socket_of(database: str) -> str:
    """The socket of the server that a URL of a test leads to."""
    found = re.search(r"host=([^&]+)", database)
    assert found is not None
    return str(Path(found[1]) / ".s.PGSQL.5432")
