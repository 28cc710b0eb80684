"""JSON by the C parts of the standard `json` module. The Python part costs as much time to import as Python to start."""

from __future__ import annotations

from _json import encode_basestring, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BLANKS = " \t\r\n"


class _Plain:
    """How to read: nothing special, and line ends inside of strings are taken as they are."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _refuse(value: Any) -> Any:
    raise TypeError(f"no JSON: {value!r}")


_scan = make_scanner(_Plain())  # pyright: ignore[reportArgumentType]
_encode = make_encoder(None, _refuse, encode_basestring, None, ":", ",", False, False, True)


def dumps(value: Any) -> str:
    return "".join(_encode(value, 0))


def line(value: Any) -> bytes:
    """A line of a stream."""
    return ("".join(_encode(value, 0)) + "\n").encode("utf-8", "surrogateescape")


def loads(text: str) -> Any:
    """The value in a text. ValueError where there is none."""
    value, end = scan(text, 0)
    if text[end:].strip():
        raise ValueError(f"more than one JSON value: {text[end : end + 40]!r}")
    return value


def scan(text: str, start: int) -> tuple[Any, int]:
    """The value that begins here, and where it ends."""
    while start < len(text) and text[start] in _BLANKS:
        start += 1
    try:
        return _scan(text, start)
    except StopIteration:
        raise ValueError(f"no JSON at {start}: {text[start : start + 40]!r}") from None


def read(path: str) -> Any:
    """The value in a file; None where it can't be read."""
    from kumihimo.testing.agents.files import read_text

    try:
        return loads(read_text(path))
    except (OSError, ValueError):
        return None
