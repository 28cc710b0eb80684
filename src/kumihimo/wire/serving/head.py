"""The head of a request, taken apart; and heads that came before, which need not be taken apart again."""

from __future__ import annotations

from typing import Any, Final

MOST_HEADS: Final = 256
_MOST_BYTES: Final = 4096
_END: Final = b"\r\n\r\n"


class Head:
    """`length` is how many bytes of a body follow; None where nobody has said. `memo` is for whoever answers: what was found
    out about a head is true of every request that has the same."""

    __slots__ = (
        "expects",
        "headers",
        "keep_alive",
        "length",
        "memo",
        "method",
        "path",
        "query",
        "raw_path",
        "scheme",
        "version",
    )

    def __init__(
        self,
        *,
        method: str,
        path: str,
        raw_path: bytes,
        query: bytes,
        headers: list[tuple[bytes, bytes]],
        scheme: str,
        version: str,
        keep_alive: bool,
        expects: bool,
    ) -> None:
        self.method = method
        self.path = path
        self.raw_path = raw_path
        self.query = query
        self.headers = headers
        self.scheme = scheme
        self.version = version
        self.keep_alive = keep_alive
        self.expects = expects
        self.length: int | None = None
        self.memo: Any = None

    def scope(self) -> dict[str, Any]:
        """As an ASGI application sees it, which may do with it what it likes."""
        return {
            "type": "http",
            "http_version": self.version,
            "method": self.method,
            "scheme": self.scheme,
            "path": self.path,
            "raw_path": self.raw_path,
            "query_string": self.query,
            "headers": self.headers,
        }

    @property
    def plain(self) -> bool:
        """Whether what follows it is a body of a known length and nothing else."""
        names = [name for name, _ in self.headers]
        special = self.expects or b"transfer-encoding" in names or b"upgrade" in names
        return self.keep_alive and names.count(b"content-length") == 1 and not special

    @property
    def told_length(self) -> bytes:
        """What a plain one says of its body."""
        return next(value for name, value in self.headers if name == b"content-length")


class Heads:
    """Clients say the same with every request, but for its body. What came in one piece, and alone, is known again by its
    bytes: so it is read exactly as it was the first time."""

    def __init__(self) -> None:
        self._known: dict[bytes, Head] = {}

    def split(self, data: bytes) -> tuple[Head, bytes] | None:
        """A whole request with a head that is known, and its body."""
        end = data.find(_END) + len(_END)
        head = self._known.get(data[:end])
        return (head, data[end:]) if head is not None and head.length == len(data) - end else None

    def keep(self, data: bytes, head: Head) -> None:
        """`data` was one request, from its first byte to its last."""
        end = data.find(_END) + len(_END)
        if not head.plain or end > _MOST_BYTES:
            return
        head.length = len(data) - end
        # The parser may forgive more than this does.
        if head.told_length == b"%d" % head.length:
            if len(self._known) >= MOST_HEADS:
                self._known.clear()
            self._known[data[:end]] = head
