"""Lines out of a pipe, however they are cut up. Longer ones than can be held are passed over, but for their two ends."""

from __future__ import annotations

from collections.abc import Callable

# How much of both ends of a line is kept that is passed over.
END_BYTES = 256


class Lines:
    """`on_too_long` hears of each line that was passed over how it began and how it ended."""

    def __init__(self, most_bytes: int, on_too_long: Callable[[bytes, bytes], None]) -> None:
        self._most_bytes = most_bytes
        self._on_too_long = on_too_long
        self._parts: list[bytes] = []
        self._held = 0
        self._passing_over = False
        self._beginning = b""
        self._end = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now."""
        if not self._parts and not self._passing_over and data.endswith(b"\n") and len(data) <= self._most_bytes:
            # What comes mostly: whole lines and nothing else.
            return data[:-1].split(b"\n")
        head, newline, rest = data.partition(b"\n")
        self._keep(head)
        if not newline:
            return []
        found = [line] if (line := self._take()) is not None else []
        *whole, last = rest.split(b"\n")
        for line in whole:
            if len(line) > self._most_bytes:
                self._on_too_long(line[:END_BYTES], line[-END_BYTES:])
            else:
                found.append(line)
        self._keep(last)
        return found

    def _keep(self, part: bytes) -> None:
        if not part:
            return
        if self._passing_over:
            self._end = (self._end + part[-END_BYTES:])[-END_BYTES:]
            return
        self._held += len(part)
        self._parts.append(part)
        if self._held > self._most_bytes:
            self._passing_over = True
            whole = b"".join(self._parts)
            self._beginning, self._end = whole[:END_BYTES], whole[-END_BYTES:]
            self._parts.clear()

    def _take(self) -> bytes | None:
        line = b"".join(self._parts)
        passed_over, self._passing_over = self._passing_over, False
        self._parts.clear()
        self._held = 0
        if passed_over:
            self._on_too_long(self._beginning, self._end)
            return None
        return line
