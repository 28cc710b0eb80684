"""A capture: the file that an agent writes to, read line by line from where one stopped, with secrets struck out of it.

A secret is overwritten in the file itself with as many stars, so that positions stay what they are. Everything before
`position` is whole lines without secrets; what comes after has not been looked at.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

_CHUNK = 1 << 20
# A longer line is not taken apart: it is counted and passed over.
LONGEST_LINE = 1 << 25
# No secret is longer: so much is looked at again where a line had to be cut, and a secret on the cut is seen whole.
_OVERLAP = 1024
# Tokens of ours are known by their looks, also where nobody remembers which one a run was given.
_OUR_WORDS = (b"kexe_", b"kins_", b"krun_")
_OURS = re.compile(rb"k(?:exe|ins|run)_[0-9a-z]{32}")


class Capture:
    def __init__(self, path: Path, secrets: tuple[bytes, ...] = (), position: int = 0) -> None:
        self._path = path
        self._opened: int | None = None
        self._secrets = secrets
        self.position = position
        # In the rest of a line that was too long, and is counted already.
        self._passing_over = False

    def grown(self) -> bool:
        """Whether there is something behind the position."""
        try:
            return os.fstat(self._file).st_size > self.position
        except FileNotFoundError:
            # Its shell has not come to it yet.
            return False

    @property
    def _file(self) -> int:
        if self._opened is None:
            self._opened = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
        return self._opened

    def read(self, *, final: bool = False) -> list[bytes]:
        """The next whole lines, some at a time; none where there are none yet. `final`: what is left counts as a line."""
        if not self.grown():
            return []
        size = _CHUNK
        while True:
            chunk = os.pread(self._file, size, self.position)
            end = chunk.rfind(b"\n") + 1
            if end or (final and chunk and len(chunk) < size):
                found = self._lines(chunk[: end or None])
                if found:
                    return found
                size = _CHUNK
            elif len(chunk) < size:
                return []
            elif size >= LONGEST_LINE:
                self._take(chunk)
                self.position -= _OVERLAP
                if not self._passing_over:
                    self._passing_over = True
                    return [b""]
            else:
                size *= 2

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The lines of a chunk that ends with one."""
        found = self._take(chunk).removesuffix(b"\n").split(b"\n")
        if self._passing_over:
            self._passing_over = False
            del found[0]
        return found

    def close(self) -> None:
        if self._opened is not None:
            os.close(self._opened)
            self._opened = None

    def _take(self, chunk: bytes) -> bytes:
        clean = strike_out(chunk, self._secrets)
        if clean is not chunk:
            os.pwrite(self._file, clean, self.position)
        self.position += len(chunk)
        return clean


def strike_out(text: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """The text itself where no secret is in it, else a copy of the same length with stars in their place."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, b"*" * len(secret))
    if any(word in text for word in _OUR_WORDS) and _OURS.search(text):
        text = _OURS.sub(_stars, text)
    return text


def _stars(found: re.Match[bytes]) -> bytes:
    return b"*" * len(found[0])


def tail(path: Path, secrets: tuple[bytes, ...] = (), size: int = 8_192) -> str:
    """The end of a file, with secrets struck out of it and of the file, and without NUL, which a database can't keep."""
    with path.open("r+b") as file:
        length = file.seek(0, os.SEEK_END)
        position = 0
        while position < length:
            file.seek(position)
            chunk = file.read(_CHUNK)
            clean = strike_out(chunk, secrets)
            if clean is not chunk:
                file.seek(position)
                file.write(clean)
            # Overlapping, so that a secret on the border of two chunks is seen whole in the next.
            position += len(chunk) - _OVERLAP if len(chunk) == _CHUNK else len(chunk)
        file.seek(max(0, length - size))
        return file.read().decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
