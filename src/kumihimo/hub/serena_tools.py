"""What the methods of the Serena facade are called by the Serenas that there are, with their arguments, and what they answer.

The names change from release to release: the first tool that is offered is taken, and the first of the names of an argument
that its schema knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, cast

import msgspec

from kumihimo.hub.tools import Table, Tool

Kind = Literal["class", "function", "variable", "interface", "type"]
# The kinds of symbols that language servers know. TypeScript's tells the alias of a type as a variable.
KINDS: dict[str, list[int]] = {
    "class": [5, 23],
    "function": [12, 6, 9],
    "variable": [13, 14, 8, 7],
    "interface": [11],
    "type": [5, 10, 11, 13, 23, 26],
}
_GROUP = re.compile(r"\\(\\|\d+)")


class Way(NamedTuple):
    """A tool, the names that it has for our arguments, and what it needs besides."""

    tool: str
    names: Mapping[str, tuple[str, ...]]
    besides: Mapping[str, Any] = {}

    def arguments(self, given: Mapping[str, Any], tool: Tool | None) -> Table:
        """`tool` is None where its schema is not known: then the names of today are taken."""
        known = None if tool is None else _properties(tool)
        made: Table = dict(self.besides)
        for name, value in given.items():
            # A tool that takes nothing gets nothing.
            if value is not None and known != {}:
                theirs = next((theirs for theirs in self.names[name] if known and theirs in known), self.names[name][0])
                made[theirs] = self._grouped(value) if name == "replacement" else value
        return made

    def _grouped(self, replacement: str) -> str:
        r"""`\1` is the first group, as in `re.sub`, whatever the tool writes for it."""
        if self.tool != "replace_content":
            return replacement
        return _GROUP.sub(lambda found: "\\" if found[1] == "\\" else f"$!{found[1]}", replacement)


_PATH = ("relative_path",)
_SYMBOL = {"path": _PATH, "symbol_name": ("name_path", "name_path_pattern"), "body": ("body",)}
_MEMORY = ("memory_name", "memory_file_name")
_MANY = ("allow_multiple_occurrences",)

WAYS: dict[str, tuple[Way, ...]] = {
    "find_symbol": (
        Way(
            "find_symbol",
            {
                "name": ("name_path_pattern", "name_path"),
                "kinds": ("include_kinds",),
                "include_body": ("include_body",),
                "path": _PATH,
            },
        ),
    ),
    "get_symbols_overview": (Way("get_symbols_overview", {"path": _PATH}),),
    "replace_symbol_body": (Way("replace_symbol_body", _SYMBOL),),
    "insert_before_symbol": (Way("insert_before_symbol", _SYMBOL),),
    "insert_after_symbol": (Way("insert_after_symbol", _SYMBOL),),
    "search_for_pattern": (Way("search_for_pattern", {"pattern": ("substring_pattern", "pattern"), "path": _PATH}),),
    "replace_regex": (
        Way(
            "replace_content",
            {"path": _PATH, "pattern": ("needle",), "replacement": ("repl",), "many": _MANY},
            {"mode": "regex"},
        ),
        Way("replace_regex", {"path": _PATH, "pattern": ("regex",), "replacement": ("repl",), "many": _MANY}),
    ),
    "find_file": (Way("find_file", {"pattern": ("file_mask",), "path": _PATH}),),
    "list_dir": (Way("list_dir", {"path": _PATH, "recursive": ("recursive",)}),),
    "read_memory": (Way("read_memory", {"key": _MEMORY}),),
    "write_memory": (Way("write_memory", {"key": _MEMORY, "value": ("content",)}),),
    "find_referencing_symbols": (
        Way("find_referencing_symbols", {"symbol": ("name_path", "name_path_pattern"), "path": _PATH}),
    ),
    "think_about_collected_information": (Way("think_about_collected_information", {"context": ("context",)}),),
    "think_about_whether_you_are_done": (Way("think_about_whether_you_are_done", {"task": ("task",)}),),
}


def pattern_text(pattern: str | re.Pattern[str]) -> str:
    """A compiled pattern with its flags, as text."""
    if isinstance(pattern, str):
        return pattern
    letters = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x", re.ASCII: "a"}
    flags = "".join(letter for flag, letter in letters.items() if pattern.flags & flag)
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern


def value_of(data: Any) -> Any:
    """What was answered, as values where it is a table or a list, else as text."""
    text = _text(data)
    if text is None:
        return data
    try:
        value: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return cast("Any", value) if isinstance(value, dict | list) else text


def text_of(value: Any) -> str:
    """For a memory, which is text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def symbols(value: Any) -> Any:
    """Each symbol with its name, type, path and line, counted from 1, beside what Serena tells of it."""
    if not isinstance(value, list):
        return value
    found = cast("list[Any]", value)
    return [_symbol(cast("Table", entry)) if isinstance(entry, dict) else entry for entry in found]


def files(value: Any) -> Any:
    """The list alone, where it is all that is told."""
    told = cast("Table", value) if isinstance(value, dict) else Table()
    return told["files"] if isinstance(told.get("files"), list) else cast("Any", value)


def _symbol(told: Table) -> Table:
    made: Table = {}
    if isinstance(path := told.get("name_path"), str):
        made["name"] = path.rpartition("/")[2]
    if isinstance(kind := told.get("kind"), str):
        made["type"] = kind.lower()
    if "relative_path" in told:
        made["path"] = told["relative_path"]
    if (line := _first_line(told)) is not None:
        made["line"] = line + 1
    if "info" in told:
        made["documentation"] = told["info"]
    return {**made, **told}


def only_line(value: Any) -> int | None:
    """Where the symbols that were found begin, counted from 0, where that is one place."""
    found = cast("list[Any]", value) if isinstance(value, list) else []
    lines = {_first_line(cast("Table", symbol)) for symbol in found if isinstance(symbol, dict)}
    return next(iter(lines)) if len(lines) == 1 else None


def _first_line(symbol: Table) -> int | None:
    location = symbol.get("body_location")
    line = cast("Table", location).get("start_line") if isinstance(location, dict) else None
    return line if isinstance(line, int) else None


def _text(data: Any) -> str | None:
    if isinstance(data, dict):
        table = cast("Table", data)
        return table["result"] if list(table) == ["result"] and isinstance(table["result"], str) else None
    blocks = cast("list[Any]", data) if isinstance(data, list) else []
    texts = [cast("Table", block).get("text") for block in blocks if isinstance(block, dict)]
    spoken = [text for text in texts if isinstance(text, str)]
    return "\n".join(spoken) if spoken and len(spoken) == len(blocks) else None


def _properties(tool: Tool) -> Table:
    schema = tool.input_schema
    found = cast("Table", schema).get("properties") if isinstance(schema, dict) else None
    return cast("Table", found) if isinstance(found, dict) else {}
