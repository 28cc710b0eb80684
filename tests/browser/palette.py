"""Pictures of a screen with few colours: a third of the size, and nobody sees the difference.

The most frequent colours are kept, each unlike those before it, so that the few dots of green or red that tell a state stay
as they are: what a common quantiser gives up first.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MOST_COLOURS = 256
_FIRST_GAP = 6
Colour = tuple[int, ...]


def shrink(file: Path) -> None:
    width, height, pixels = _read(file)
    kept = _kept(Counter(pixels))
    nearest: dict[Colour, int] = {}
    for colour in set(pixels):
        nearest[colour] = min(
            range(len(kept)), key=lambda place: sum((a - b) ** 2 for a, b in zip(colour, kept[place], strict=True))
        )
    indexes = bytes(nearest[colour] for colour in pixels)
    rows = b"".join(b"\0" + indexes[row * width : (row + 1) * width] for row in range(height))
    _write(file, width, height, kept, rows)


def _kept(counted: Counter[Colour]) -> list[Colour]:
    """Every colour of the picture is at most `gap` away from one of these, in each of its parts."""
    gap = _FIRST_GAP
    while True:
        found: list[Colour] = []
        for colour, _ in counted.most_common():
            if all(max(abs(a - b) for a, b in zip(colour, one, strict=True)) > gap for one in found):
                found.append(colour)
        if len(found) <= _MOST_COLOURS:
            return found
        gap += 2


def _read(file: Path) -> tuple[int, int, list[Colour]]:
    """Of eight bits for each of red, green and blue, as browsers write it."""
    header, data = b"", b""
    for kind, body in _chunks(file.read_bytes()):
        header = body if kind == b"IHDR" else header
        data += body if kind == b"IDAT" else b""
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    assert (depth, interlaced) == (8, 0)
    assert kind in (2, 6)
    size = 3 if kind == 2 else 4
    pixels: list[Colour] = []
    for row in _rows(zlib.decompress(data), width * size, size):
        pixels += zip(row[0::size], row[1::size], row[2::size], strict=True)
    assert len(pixels) == width * height
    return width, height, pixels


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    assert data.startswith(_SIGNATURE)
    at = len(_SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += length + 12


def _rows(data: bytes, length: int, size: int) -> Iterator[bytearray]:
    """The rows without the filters that were put on them."""
    before = bytearray(length)
    for start in range(0, len(data), length + 1):
        row = bytearray(data[start + 1 : start + 1 + length])
        _unfilter(data[start], row, before, size)
        yield row
        before = row


def _unfilter(kind: int, row: bytearray, above: bytearray, size: int) -> None:
    for at in range(len(row) if kind else 0):
        left = row[at - size] if at >= size else 0
        up = above[at]
        if kind == 4:
            corner = above[at - size] if at >= size else 0
            guess = left + up - corner
            added = min((left, up, corner), key=lambda one: abs(guess - one))
        else:
            added = (0, left, up, (left + up) // 2)[kind]
        row[at] = (row[at] + added) & 255


def _write(file: Path, width: int, height: int, kept: list[Colour], rows: bytes) -> None:
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", bytes(part for colour in kept for part in colour)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    )
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    file.write_bytes(_SIGNATURE + b"".join(chunks))
