"""Lines out of a pipe, however they are cut up. Longer ones than can be held are passed over."""

from __future__ import annotations


class Lines:
    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._passing_over = False
        # How many lines were passed over.
        self.too_long = 0

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
                self.too_long += 1
            else:
                found.append(line)
        self._keep(last)
        return found

    def _keep(self, part: bytes) -> None:
        if self._passing_over or not part:
            return
        self._held += len(part)
        if self._held > self._most_bytes:
            self._passing_over = True
            self._parts.clear()
        else:
            self._parts.append(part)

    def _take(self) -> bytes | None:
        line = b"".join(self._parts)
        passed_over, self._passing_over = self._passing_over, False
        self._parts.clear()
        self._held = 0
        if passed_over:
            self.too_long += 1
            return None
        return line
