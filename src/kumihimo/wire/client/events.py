"""Server-sent events out of the body of an HTTP answer."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable


class Events:
    """`take` gets the data of each event, and finds its name in `kind`. `last_id` is where a cut stream is taken up again,
    after `retry_seconds`."""

    def __init__(self, take: Callable[[bytes], None], most_bytes: int) -> None:
        self.kind = b""
        self.last_id: bytes | None = None
        self.retry_seconds = 0.5
        # An event with more than that many bytes: nothing after it is read.
        self.too_long = False
        self._take = take
        self._most_bytes = most_bytes
        self._after_return = False
        self._begun = False
        self._parts: list[bytes] = []
        self._held = 0
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        if self.too_long or not chunk:
            return
        if b"\r" in chunk or self._after_return:
            # A line may end with CR, LF or both, and the two may come apart.
            if self._after_return:
                chunk = chunk.removeprefix(b"\n")
            self._after_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *more = chunk.split(b"\n")
        self._keep(first)
        for line in more:
            if self.too_long:
                return
            self._line(b"".join(self._parts))
            self._parts.clear()
            self._keep(line)

    def _keep(self, part: bytes) -> None:
        self._held += len(part)
        if self._held > self._most_bytes:
            self.too_long = True
            self._parts.clear()
            self._data.clear()
        elif part:
            self._parts.append(part)

    def _line(self, line: bytes) -> None:
        if not self._begun:
            self._begun, line = True, line.removeprefix(BOM_UTF8)
        if not line:
            self._dispatch()
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self.kind = value
        elif field == b"id" and b"\0" not in value:
            self.last_id = value
        elif field == b"retry" and value.isdigit():
            self.retry_seconds = min(int(value), 60_000) / 1000
        if field != b"data":
            self._held -= len(line)

    def _dispatch(self) -> None:
        data, self._held = b"\n".join(self._data), 0
        self._data.clear()
        if data.strip():
            self._take(data)
        self.kind = b""
