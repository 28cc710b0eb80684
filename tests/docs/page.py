"""A page of the documentation as what it tells a reader to type, and what it says will be printed.

A block ```sh is commands, each of which must end with 0. In a block ```console a line with `$ ` is a command and the lines below
it are what it prints: `...` stands for anything in a line, a line of nothing but `...` for any number of lines, and runs of
blanks are alike. `<!-- not run: REASON -->` before a block leaves it out.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import Struct

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<kind>sh|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_HERE = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?")


class Command(Struct, frozen=True):
    """`expected` is None where only the exit code counts."""

    text: str
    line: int
    expected: tuple[str, ...] | None = None


def commands(page: Path) -> list[Command]:
    found: list[Command] = []
    text = page.read_text("utf-8")
    for block in _BLOCK.finditer(text):
        if block["reason"]:
            continue
        first = text.count("\n", 0, block.start("text")) + 1
        lines = block["text"].splitlines()
        found += _typed(lines, first) if block["kind"] == "sh" else _shown(lines, first)
    return found


def left_out(page: Path) -> list[str]:
    """Why blocks are not run."""
    return [block["reason"] for block in _BLOCK.finditer(page.read_text("utf-8")) if block["reason"]]


def fits(expected: tuple[str, ...], printed: list[str]) -> bool:
    """Whether what was printed is what the page shows."""
    if not expected:
        return not [line for line in printed if line.strip()]
    first, *rest = expected
    if first.strip() == "...":
        return any(fits(tuple(rest), printed[start:]) for start in range(len(printed) + 1)) if rest else True
    if not printed or not _like(first, printed[0]):
        return False
    return fits(tuple(rest), printed[1:])


def _like(shown: str, line: str) -> bool:
    parts = (r"\s+".join(map(re.escape, part.split(" "))) for part in re.sub(r" +", " ", shown.strip()).split("..."))
    return (
        re.fullmatch(".*".join(parts).replace(r"\s+.*", r"\s*.*").replace(r".*\s+", r".*\s*"), line.strip()) is not None
    )


def _typed(lines: list[str], first: int) -> list[Command]:
    """One command a line, but for those that go on: behind a backslash, or up to the word that ends a text."""
    found: list[Command] = []
    part: list[str] = []
    until: str | None = None
    for number, line in enumerate(lines, first):
        part.append(line)
        here = _HERE.search(line) if until is None else None
        until = here[1] if here else (None if line == until else until)
        if until is None and not line.endswith("\\"):
            whole = "\n".join(part)
            if whole.strip():
                found.append(Command(whole, number - len(part) + 1))
            part = []
    assert not part, f"a command without an end: {part}"
    return found


def _shown(lines: list[str], first: int) -> list[Command]:
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], "a block of this kind begins with a command"
    ends = [*starts[1:], len(lines)]
    return [
        Command(lines[start].removeprefix("$ "), first + start, tuple(lines[start + 1 : end]))
        for start, end in zip(starts, ends, strict=True)
    ]
