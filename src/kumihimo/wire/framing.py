"""Where one message ends and the next begins: lines of JSON, and `Content-Length` frames, mixed as the client likes."""

import re
from typing import Final, NamedTuple

MOST_HEADER_BYTES: Final = 8192
_CONTENT_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_JSON_STARTS: Final = frozenset(b"{[")


class Frame(NamedTuple):
    """One message and how it was framed. `fault` says why there is none."""

    body: bytes
    framed: bool
    fault: str = ""


class Framing:
    """Cuts a stream of bytes into messages. Holds at most one message of at most `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._buffer = bytearray()
        self._scanned = 0
        self._body_left: int | None = None
        self._skip_bytes = 0
        self._skip_line = False

    def take(self, data: bytes) -> list[bytes] | list[Frame]:
        """As `feed`; where the data is nothing but whole lines of JSON, as it mostly is, these lines and no more."""
        if data[-1:] != b"\n" or len(data) > self._most_bytes or self._holds_something:
            return self.feed(data)
        lines = data.split(b"\n")
        lines.pop()
        for line in lines:
            if not line or line[0] not in _JSON_STARTS:
                return self.feed(data)
        return lines

    @property
    def _holds_something(self) -> bool:
        return bool(self._buffer or self._skip_bytes or self._skip_line or self._body_left is not None)

    def feed(self, data: bytes) -> list[Frame]:
        """The messages that are complete with this data."""
        if self._holds_something:
            self._buffer += data
            return self._cut()
        frames: list[Frame] = []
        lines = data.split(b"\n")
        rest = lines.pop()
        for line in lines:
            if line and line[0] in _JSON_STARTS:
                if len(line) > self._most_bytes:
                    frames.append(self._too_large(framed=False))
                else:
                    frames.append(Frame(line, framed=False))
            elif line.strip():
                # A header, or nonsense: the careful way, from the start of this data.
                self._buffer += data
                return self._cut()
        if rest:
            self._buffer += rest
            if len(rest) > self._most_bytes or rest[0] not in _JSON_STARTS:
                frames += self._cut()
        return frames

    def end(self) -> list[Frame]:
        """The last message, where the stream ended without a newline after it."""
        line = bytes(self._buffer).strip()
        self._buffer.clear()
        if not line or self._body_left is not None or self._skip_line or self._skip_bytes:
            return []
        return [] if line[:1] in b"Cc" else [Frame(line, framed=False)]

    def _cut(self) -> list[Frame]:
        frames: list[Frame] = []
        while self._advance(frames):
            pass
        return frames

    def _advance(self, frames: list[Frame]) -> bool:
        """One step: True while there may be more to take out of the buffer."""
        buffer = self._buffer
        if self._skip_bytes:
            dropped = min(self._skip_bytes, len(buffer))
            del buffer[:dropped]
            self._skip_bytes -= dropped
            return not self._skip_bytes and bool(buffer)
        if self._body_left is not None:
            if len(buffer) < self._body_left:
                return False
            frames.append(Frame(bytes(buffer[: self._body_left]), framed=True))
            del buffer[: self._body_left]
            self._body_left = None
            return bool(buffer)
        if self._skip_line:
            return self._drop_line()
        blank = len(buffer) - len(buffer.lstrip(b" \t\r\n"))
        if blank and self._scanned == 0:
            del buffer[:blank]
        if not buffer:
            return False
        if buffer[0] in b"Cc":
            return self._take_header(frames)
        return self._take_line(frames)

    def _drop_line(self) -> bool:
        end = self._buffer.find(b"\n")
        if end < 0:
            self._buffer.clear()
            return False
        del self._buffer[: end + 1]
        self._skip_line = False
        return bool(self._buffer)

    def _take_line(self, frames: list[Frame]) -> bool:
        buffer = self._buffer
        end = buffer.find(b"\n", self._scanned)
        if end < 0:
            self._scanned = len(buffer)
            if len(buffer) > self._most_bytes:
                frames.append(self._too_large(framed=False))
                buffer.clear()
                self._scanned = 0
                self._skip_line = True
            return False
        line = bytes(buffer[:end])
        del buffer[: end + 1]
        self._scanned = 0
        if len(line) > self._most_bytes:
            frames.append(self._too_large(framed=False))
        else:
            frames.append(Frame(line, framed=False))
        return bool(buffer)

    def _take_header(self, frames: list[Frame]) -> bool:
        buffer = self._buffer
        end = _HEADER_END.search(buffer, 0, MOST_HEADER_BYTES)
        if end is None:
            if len(buffer) < MOST_HEADER_BYTES and not self._hopeless():
                return False
            frames.append(Frame(b"", framed=False, fault="neither JSON nor a Content-Length header"))
            self._skip_line = True
            return True
        header = bytes(buffer[: end.start()])
        del buffer[: end.end()]
        length = _CONTENT_LENGTH.search(header)
        if length is None:
            frames.append(Frame(b"", framed=True, fault="a header without Content-Length"))
            return bool(buffer)
        size = int(length[1])
        if size > self._most_bytes:
            frames.append(self._too_large(framed=True))
            self._skip_bytes = size
        else:
            self._body_left = size
        return True

    def _hopeless(self) -> bool:
        """Whether the first line is complete and is no header line, so that no header will come of it."""
        end = self._buffer.find(b"\n")
        return end >= 0 and b":" not in self._buffer[:end]

    def _too_large(self, *, framed: bool) -> Frame:
        return Frame(b"", framed, fault=f"a message has more than {self._most_bytes} bytes")


def frame(message: bytes, *, framed: bool) -> bytes:
    """A message as it goes out."""
    if framed:
        return b"Content-Length: %d\r\n\r\n%b" % (len(message), message)
    # Outside of strings, where JSON has no raw newline, one is only white space: it may come with a handler's JSON.
    if b"\n" in message:
        message = message.replace(b"\n", b" ")
    return message + b"\n"
