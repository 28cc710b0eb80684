"""Answers for people: tables drawn by rich on a terminal, plain columns into a pipe, records line by line.

Text of agents can hold anything; on its way to a terminal everything that is not a letter is made visible.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from typing import Any, cast

from kumihimo.settings import Language
from kumihimo.surfaces.cli.phrases import heading, said

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# A full stop ends a sentence where a new one begins behind it: not in "e.g. this", nor in "v1.2".
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？])")
_GIST_COLUMNS = 100
_STATUS_STYLES = {
    "done": "green", "ok": "green", "completed": "green", "active": "green", "in_progress": "blue", "running": "blue",
    "blocked": "red", "failed": "red", "error": "red", "warning": "yellow", "paused": "yellow", "cancelled": "dim",
    "archived": "dim", "backlog": "dim",
}  # fmt: skip


# What is shown of an entry of a context; of anything else all of it.
_ENTRY_PARTS = ("createdAt", "type", "content")


def safe(text: str) -> str:
    """Control characters and those that reorder text, as visible escapes."""
    return _UNSAFE.sub(
        lambda found: f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else f"\\u{ord(found[0]):04x}", text
    )


def cell(value: Any) -> str:
    """A value in one line."""
    if value is None or value == [] or value == {}:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return ", ".join(cell(item) for item in items)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value)
        return ", ".join(f"{key} {cell(item)}" for key, item in pairs.items())
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value):
        return value[:16].replace("T", " ")
    return safe(str(value)).replace("\n", " ")


def gist(value: Any) -> str:
    """What a description says first, where it is one of many: all of it would hide the others."""
    text = _SENTENCE_END.split(cell(value).strip(), 1)[0]
    if columns_of(text) <= _GIST_COLUMNS:
        return text
    while columns_of(text) >= _GIST_COLUMNS:
        text = text[: _GIST_COLUMNS - 1] if len(text) >= _GIST_COLUMNS else text[:-1]
    return text.rstrip() + "…"


def table(rows: list[dict[str, Any]], columns: tuple[str, ...], language: Language) -> None:
    headings = [heading(column, language) for column in columns]
    shown = [gist if column == "description" else cell for column in columns]
    cells = [[show(row.get(column)) for show, column in zip(shown, columns, strict=True)] for row in rows]
    if sys.stdout.isatty():
        _draw(headings, cells, columns)
    else:
        _print_plain(headings, cells)


def record(answer: dict[str, Any], language: Language) -> None:
    """One thing, a line for each field that says something; long text below its name."""
    names = {key: heading(key, language) for key in answer}
    width = max((columns_of(name) for name in names.values()), default=0)
    for key, value in answer.items():
        if value is None or value == [] or value == "" or value == {}:
            continue
        if isinstance(value, str) and "\n" in value:
            print(f"{names[key]}:")
            print("\n".join(f"  {safe(line)}" for line in value.splitlines()))
        elif isinstance(value, list) and isinstance(value[0], dict):
            print(f"{names[key]}:")
            for entry in cast("list[dict[str, Any]]", value):
                print("  - " + "  ".join(cell(entry[part]) for part in _shown(entry)))
        else:
            print(f"{pad(names[key] + ':', width + 1)} {cell(value)}")


def _shown(entry: dict[str, Any]) -> list[str]:
    return list(_ENTRY_PARTS) if all(part in entry for part in _ENTRY_PARTS) else list(entry)


def columns_of(text: str) -> int:
    """How many columns a text takes on a terminal: Japanese letters take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def pad(text: str, width: int) -> str:
    return text + " " * (width - columns_of(text))


def nothing(language: Language) -> None:
    print(said("nothing", language), file=sys.stderr)


def _print_plain(headings: list[str], cells: list[list[str]]) -> None:
    widths = [max(columns_of(row[index]) for row in [headings, *cells]) for index in range(len(headings))]
    for row in [headings, *cells]:
        print("  ".join(pad(text, width) for text, width in zip(row, widths, strict=True)).rstrip())


def _draw(headings: list[str], cells: list[list[str]], columns: tuple[str, ...]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, column in zip(headings, columns, strict=True):
        drawn.add_column(name, overflow="fold", no_wrap=column in ("id", "status", "priority"))
    for row in cells:
        drawn.add_row(
            *(
                Text(text, style=_STATUS_STYLES.get(text, "") if column == "status" else "")
                for text, column in zip(row, columns, strict=True)
            )
        )
    Console().print(drawn)
