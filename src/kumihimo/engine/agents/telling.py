"""What a stream tells, at length: for a person who reads a run as a conversation.

The readers say what happened, in few words and for every CLI alike; here is what those words leave out: the whole
arguments of a call, its result, the change of a file. It is looked for in the line itself, by the names that the CLIs
have for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from kumihimo.engine.agents import lines
from kumihimo.engine.agents.calls import SECRET
from kumihimo.engine.agents.client import Reader
from kumihimo.engine.agents.happenings import (
    Failed,
    FileChanged,
    Finished,
    Happening,
    Said,
    ToolAnswered,
    ToolCalled,
    Warned,
)

Kind = Literal["said", "thought", "tool", "answer", "file", "warning", "finished", "failed", "plain"]
LONGEST = 20_000
_MOST_CHANGES = 50
_DEEPEST = 6
_IDS = ("id", "tool_use_id", "tool_id", "call_id", "callID", "toolCallId")
_GIVEN = ("input", "parameters", "arguments", "args", "command", "changes", "query")
_ANSWERED = ("content", "output", "result", "aggregated_output", "error")
_PATHS = ("file_path", "absolute_path", "filePath", "path", "notebook_path")
_BEFORE = ("old_string", "oldString", "old_str")
_AFTER = ("new_string", "newString", "new_str", "content", "file_text", "new_source")


class Change(Struct, frozen=True, omit_defaults=True):
    """A piece of a file, before and after. What the stream does not show is None."""

    path: str
    before: str | None = None
    after: str | None = None


class Entry(Struct, frozen=True, omit_defaults=True):
    """One thing that was said or done. `position` is that of its line; an answer has the `call` that it belongs to."""

    position: int
    kind: Kind
    text: str | None = None
    call: str | None = None
    tool: str | None = None
    arguments: str | None = None
    ok: bool | None = None
    result: str | None = None
    changes: tuple[Change, ...] = ()
    at: datetime | None = None
    """When its line says that it was written; not every CLI says so."""


def tell(reader: Reader, read: Iterable[tuple[int, bytes]]) -> list[Entry]:
    """Lines, each with its position, as entries. An answer that comes in pieces is one entry."""
    found: list[Entry] = []
    goes_on = False
    for position, line in read:
        table = lines.table_of(line)
        if table is None:
            words = line.decode("utf-8", "replace").rstrip("\r\n")
            if words.strip():
                found.append(Entry(position, "plain", words[:LONGEST]))
            continue
        at = lines.moment(table, "timestamp")
        found += [Entry(position, "thought", thought[:LONGEST], at=at) for thought in _thoughts(table)]
        for happening in reader.read(line):
            if isinstance(happening, Said):
                if happening.partial and goes_on:
                    found[-1] = _joined(found[-1], happening.text)
                    continue
                goes_on = happening.partial
            entry = _entry(position, table, happening)
            if entry is not None:
                goes_on = goes_on and entry.kind == "said"
                found.append(msgspec.structs.replace(entry, at=at))
    return found


def _joined(entry: Entry, text: str) -> Entry:
    return msgspec.structs.replace(entry, text=((entry.text or "") + text)[:LONGEST])


def _entry(position: int, table: lines.Table, happening: Happening) -> Entry | None:
    match happening:
        case Said(text):
            return Entry(position, "said", text[:LONGEST])
        case ToolCalled(call, tool, short):
            given = _first(_about(table, call), _GIVEN)
            shown = short if given is None else _rendered(given)
            return Entry(position, "tool", call=call, tool=tool, arguments=shown, changes=_changes(given))
        case ToolAnswered(call, ok):
            said = _first(_about(table, call), _ANSWERED)
            return Entry(position, "answer", call=call, ok=ok, result=None if said is None else _words(said))
        case FileChanged(path, created):
            return Entry(position, "file", path, ok=created)
        case Warned(message):
            return Entry(position, "warning", message)
        case Finished(text):
            return Entry(position, "finished", (text or "")[:LONGEST])
        case Failed(_, message):
            return Entry(position, "failed", message[:LONGEST])
        case _:
            return None


def _about(table: lines.Table, call: str, depth: int = 0) -> Iterator[lines.Table]:
    """The tables of a line that tell of a call: the one that names it, and what lies directly in that."""
    if any(table.get(name) == call for name in _IDS):
        yield table
        yield from (cast("lines.Table", value) for value in table.values() if isinstance(value, dict))
    if depth == _DEEPEST:
        return
    for value in table.values():
        inner = cast("list[Any]", value) if isinstance(value, list) else [value]
        for one in inner:
            if isinstance(one, dict):
                yield from _about(cast("lines.Table", one), call, depth + 1)


def _first(tables: Iterable[lines.Table], names: tuple[str, ...]) -> Any:
    return next((table[name] for table in tables for name in names if table.get(name) not in (None, "")), None)


def _rendered(given: Any) -> str:
    if isinstance(given, str):
        return given[:LONGEST]
    return msgspec.json.format(msgspec.json.encode(_without_secrets(given)), indent=2).decode()[:LONGEST]


def _without_secrets(given: Any) -> Any:
    if isinstance(given, list):
        return [_without_secrets(one) for one in cast("list[Any]", given)]
    if not isinstance(given, dict):
        return given
    return {
        name: "***" if isinstance(value, str) and SECRET.search(name) else _without_secrets(value)
        for name, value in cast("dict[str, Any]", given).items()
    }


def _words(said: Any) -> str:
    """A result as text: the words in it, or all of it where it has none."""
    found = lines.words(said) or lines.words(cast("lines.Table", said).get("content") if isinstance(said, dict) else "")
    return found[:LONGEST] if found else _rendered(said)


def _changes(given: Any) -> tuple[Change, ...]:
    """The pieces of files that a call changes, where its arguments say so."""
    if isinstance(given, list):
        listed = [change for change in lines.rows({"": given}, "") if _text(change, _PATHS)]
        return tuple(Change(_text(change, _PATHS) or "") for change in listed[:_MOST_CHANGES])
    if not isinstance(given, dict):
        return ()
    table = cast("lines.Table", given)
    path = _text(table, _PATHS)
    if path is None:
        return ()
    pieces = lines.rows(table, "edits") or [table]
    changed = [piece for piece in pieces if _text(piece, _AFTER) is not None]
    return tuple(Change(path, _text(piece, _BEFORE) or "", _text(piece, _AFTER)) for piece in changed[:_MOST_CHANGES])


def _text(table: lines.Table, names: tuple[str, ...]) -> str | None:
    found = next((table[name] for name in names if isinstance(table.get(name), str)), None)
    return None if found is None else found[:LONGEST]


def _thoughts(table: lines.Table) -> list[str]:
    """What an agent thinks aloud: blocks of thinking, or an item of reasoning."""
    blocks = lines.rows(lines.inner(table, "message"), "content")
    found = [lines.text(block, "thinking") for block in blocks if block.get("type") == "thinking"]
    item = lines.inner(table, "item")
    if item.get("type") == "reasoning" and table.get("type") == "item.completed":
        found.append(lines.text(item, "text"))
    return [thought for thought in found if thought.strip()]
