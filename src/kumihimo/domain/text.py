"""What counts as a good text: limits and forbidden characters, for every field that people or agents fill in.

One line of text (a title, a name) is shown in lists and terminals, so it may hold no control characters and none that
reorder what stands around them. Long text is kept as it came: who draws it makes it safe.
"""

from __future__ import annotations

import re

from kumihimo.domain.errors import InvalidValue

NAME_LIMIT = 64
LINE_LIMIT = 500
LONG_LIMIT = 200_000

# Overrides and isolates make a line read as something else than it is; plain right-to-left text needs none of them.
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_NAME = re.compile(r"\w[\w.-]*", re.UNICODE)
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?")


def line(field: str, text: str, limit: int = LINE_LIMIT) -> str:
    """One line that is not blank, without spaces around it."""
    text = _encodable(field, text).strip()
    if not text:
        raise InvalidValue(field, "blank")
    if len(text) > limit:
        raise InvalidValue(field, "too_long", limit=limit, length=len(text))
    if _CONTROL.search(text):
        raise InvalidValue(field, "control_character")
    if _REORDERING.search(text):
        raise InvalidValue(field, "reordering_character")
    return text


def name(field: str, text: str) -> str:
    """A name that can be typed: letters and digits of any language, then also `.`, `-` and `_`."""
    text = line(field, text, NAME_LIMIT)
    if not _NAME.fullmatch(text):
        raise InvalidValue(field, "not_a_name")
    return text


def slug(field: str, text: str) -> str:
    """A name that is safe in a path and a URL."""
    text = line(field, text, NAME_LIMIT)
    if not _SLUG.fullmatch(text):
        raise InvalidValue(field, "not_a_slug")
    return text


def long(field: str, text: str) -> str:
    """Text of many lines, kept as it is. NUL is refused because PostgreSQL can't store it."""
    _encodable(field, text)
    if len(text) > LONG_LIMIT:
        raise InvalidValue(field, "too_long", limit=LONG_LIMIT, length=len(text))
    if "\0" in text:
        raise InvalidValue(field, "control_character")
    return text


def long_or_none(field: str, text: str | None) -> str | None:
    return None if text is None else long(field, text)


def lines(field: str, texts: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Several single lines, such as commands or globs."""
    return tuple(line(field, text, 4_000) for text in texts)


def _encodable(field: str, text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidValue(field, "not_unicode") from None
    return text
