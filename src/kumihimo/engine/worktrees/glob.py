"""Globs over the paths of a repository, and whether two of them can mean the same file.

`*` and `?` stay within a name, `[a-z]` and `[!a-z]` are one character, `\\` takes the next one as it is, and `**` as a whole
name is any number of names. A glob begins at the top of the repository; one that fits a folder means all that is in it,
as in .gitignore. With a `/` at the end it means only what is in the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_LAST = 0x10FFFF
_SLASH = ord("/")
# Ranges of code points, in order and apart.
Characters = tuple[tuple[int, int], ...]
IN_A_NAME: Characters = ((0, _SLASH - 1), (_SLASH + 1, _LAST))
ONLY_SLASH: Characters = ((_SLASH, _SLASH),)


class Step(NamedTuple):
    """One piece of a glob: characters, once or any number of times; or any number of whole names with their slashes."""

    characters: Characters
    repeated: bool = False
    names: bool = False


ANY_NAMES = Step((), names=True)
ANY_CHARACTERS = Step(IN_A_NAME, repeated=True)


@lru_cache(maxsize=4096)
def parse(glob: str) -> tuple[Step, ...]:
    """The pieces of a glob. `**` at the end is one name or more; with nothing else it is every path."""
    text = glob
    while text.startswith("./"):
        text = text[2:]
    text = text.lstrip("/")
    only_inside = text.endswith("/")
    names = [name for name in text.split("/") if name]
    steps: list[Step] = []
    for place, name in enumerate(names):
        last = place == len(names) - 1
        if name == "**" and not last:
            steps.append(ANY_NAMES)
            continue
        steps += [ANY_CHARACTERS] if name == "**" else list(_name(name))
        if not last:
            steps.append(Step(ONLY_SLASH))
    if only_inside and names:
        steps += [Step(ONLY_SLASH), ANY_CHARACTERS]
    return tuple(steps)


@lru_cache(maxsize=4096)
def expression(glob: str) -> re.Pattern[str]:
    """The glob as a regular expression that fits whole paths, those in a folder that it fits included."""
    steps = parse(glob)
    if not steps:
        return re.compile(r"(?!)")
    return re.compile("".join(_pattern(step) for step in steps) + "(?:/.*)?", re.DOTALL)


def _pattern(step: Step) -> str:
    if step.names:
        return "(?:[^/]+/)*"
    ranges = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in step.characters)
    # A set with nothing in it, such as [z-a], fits nothing.
    return f"[{ranges}]" + ("*" if step.repeated else "") if ranges else "(?!)"


def _name(name: str) -> Iterator[Step]:
    place = 0
    while place < len(name):
        character = name[place]
        end = _end_of_set(name, place) if character == "[" else None
        if character == "*":
            yield ANY_CHARACTERS
        elif character == "?":
            yield Step(IN_A_NAME)
        elif end is not None:
            yield Step(_set(name[place + 1 : end]))
            place = end
        else:
            if character == "\\" and place + 1 < len(name):
                place += 1
            code = ord(name[place])
            yield Step(((code, code),))
        place += 1


def _end_of_set(name: str, start: int) -> int | None:
    """Where `]` closes the set: one that stands first in it is a character. None where it stays open."""
    first = start + 2 if name[start + 1 : start + 2] in ("!", "^") else start + 1
    place = first
    while place < len(name):
        if name[place] == "\\":
            place += 1
        elif name[place] == "]" and place > first:
            return place
        place += 1
    return None


def _set(inner: str) -> Characters:
    negated = inner[:1] in ("!", "^")
    letters: list[tuple[str, bool]] = []
    place = 1 if negated else 0
    while place < len(inner):
        escaped = inner[place] == "\\" and place + 1 < len(inner)
        place += escaped
        letters.append((inner[place], escaped))
        place += 1
    ranges: list[tuple[int, int]] = []
    place = 0
    while place < len(letters):
        low = high = ord(letters[place][0])
        if place + 2 < len(letters) and letters[place + 1] == ("-", False):
            high = ord(letters[place + 2][0])
            place += 2
        if low <= high:
            ranges.append((low, high))
        place += 1
    merged = _merged(ranges)
    # No set holds the slash, whatever it says: a name ends there.
    return common(_others(merged) if negated else merged, IN_A_NAME)


def common(one: Characters, other: Characters) -> Characters:
    """The characters that are in both."""
    pairs = ((max(a, c), min(b, d)) for a, b in one for c, d in other)
    return tuple(pair for pair in pairs if pair[0] <= pair[1])


def _merged(ranges: list[tuple[int, int]]) -> Characters:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _others(ranges: Characters) -> Characters:
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), _LAST]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)
