"""A TOML file edited as text: comments, order and layout of the rest stay as they were."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, cast

from kumihimo.surfaces.cli.setup.document import Form, KeyPath, indentation_at, line_at, newline_of
from kumihimo.surfaces.cli.setup.refusal import Unreadable
from kumihimo.surfaces.cli.setup.toml_syntax import Header, Pair, layout


class TomlDocument:
    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self.value: Any = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _unreadable(text, str(error)) from None
        except RecursionError:
            raise Unreadable(1, "too_deep") from None
        self._layout = layout(text)

    def line_of(self, path: KeyPath) -> int:
        return line_at(self.text, min((item.start for item in self._below(path)), default=0))

    def put(self, path: KeyPath, value: Any) -> TomlDocument:
        """The value there; a table that is not there yet becomes one with a header, at the end."""
        pairs = self._layout.pairs
        if same := next((pair for pair in pairs if pair.path == path), None):
            return self._spliced(same.value_start, same.value_end, rendered(value))
        if around := self._inline_table(path):
            return self._added_inline(around, path[len(around.path) :], value)
        if isinstance(value, dict):
            return self._appended(path, cast("dict[str, Any]", value))
        if header := next((header for header in self._layout.headers if header.path == path[:-1]), None):
            own = [pair for pair in pairs if pair.start >= header.end and pair.table == header.path and not pair.inline]
            return self._added_line(own[-1] if own else header, path[-1:], value)
        if siblings := [pair for pair in pairs if _is_dotted_into(pair, path[:-1])]:
            return self._added_line(siblings[-1], path[len(siblings[-1].table) :], value)
        return self._headed(path[:-1], {path[-1]: value})

    def remove(self, path: KeyPath) -> TomlDocument:
        """Without the key and all that is below it, wherever that stands."""
        if not (below := self._below(path)):
            return self
        last = max(below, key=lambda item: item.start)
        start, end = last.start, last.end
        if isinstance(last, Pair) and last.inline:
            start, end = self._with_comma(start, end)
        return self._spliced(start, end, "").remove(path)

    def _below(self, path: KeyPath) -> list[Header | Pair]:
        items: list[Header | Pair] = [*self._layout.headers, *self._layout.pairs]
        return [item for item in items if item.path[: len(path)] == path]

    def _inline_table(self, path: KeyPath) -> Pair | None:
        """The innermost `{…}` that the path leads into."""
        around = [
            pair
            for pair in self._layout.pairs
            if path[: len(pair.path)] == pair.path and self.text[pair.value_start] == "{"
        ]
        return max(around, key=lambda pair: len(pair.path), default=None)

    def _added_inline(self, around: Pair, key: KeyPath, value: Any) -> TomlDocument:
        inside = self.text[around.value_start + 1 : around.value_end - 1].rstrip()
        pair = f"{_key(key)} = {rendered(value)}"
        at = around.value_start + 1 + len(inside)
        if not inside:
            return self._spliced(at, around.value_end, f" {pair} }}")
        return self._spliced(at, at, f"{'' if inside.endswith(',') else ','} {pair}")

    def _added_line(self, above: Header | Pair, key: KeyPath, value: Any) -> TomlDocument:
        """One more line below that one."""
        newline = newline_of(self.text)
        line = f"{indentation_at(self.text, above.start)}{_key(key)} = {rendered(value)}{newline}"
        missing = "" if self.text[: above.end].endswith("\n") else newline
        return self._spliced(above.end, above.end, missing + line)

    def _appended(self, path: KeyPath, entry: dict[str, Any]) -> TomlDocument:
        newline = newline_of(self.text)
        gap = "" if not self.text else newline if self.text.endswith("\n") else newline * 2
        end = len(self.text)
        return self._spliced(end, end, gap + _table(path, entry).replace("\n", newline))

    def _headed(self, path: KeyPath, entry: dict[str, Any]) -> TomlDocument:
        """A header for a table that so far has only tables below it, in front of the first of those."""
        below = (header.start for header in self._layout.headers if header.path[: len(path)] == path)
        first = min(below, default=len(self.text))
        return self._spliced(first, first, f"{_table(path, entry)}\n".replace("\n", newline_of(self.text)))

    def _with_comma(self, start: int, end: int) -> tuple[int, int]:
        """From where to where to cut so that the commas of the rest are right."""
        if found := re.compile(r"\s*,[ \t]*").match(self.text, end):
            return start, found.end()
        before = self.text[:start].rstrip()
        return (len(before) - 1, end) if before.endswith(",") else (start, end)

    def _spliced(self, start: int, end: int, new: str) -> TomlDocument:
        return TomlDocument(self.text[:start] + new + self.text[end:])


def _is_dotted_into(pair: Pair, table: KeyPath) -> bool:
    """Whether it is written `table.key = value`, below a header further up or none."""
    return not pair.inline and len(pair.table) < len(table) and pair.path[: len(table)] == table


def rendered(value: Any) -> str:
    """A value on one line. What JSON escapes in a string, TOML reads."""
    if isinstance(value, dict):
        pairs = [f"{_key((key,))} = {rendered(item)}" for key, item in cast("dict[str, Any]", value).items()]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(rendered(item) for item in cast('list[Any]', value))}]"
    return json.dumps(value, ensure_ascii=False)


def _key(path: KeyPath) -> str:
    return ".".join(
        part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part, ensure_ascii=False) for part in path
    )


def _table(path: KeyPath, entry: dict[str, Any]) -> str:
    return f"[{_key(path)}]\n" + "".join(f"{_key((key,))} = {rendered(value)}\n" for key, value in entry.items())


def _unreadable(text: str, message: str) -> Unreadable:
    """tomllib has the line in its message only; none is the end of the text."""
    found = re.search(r" \(at line (\d+), column \d+\)| \(at end of document\)", message)
    line = int(found[1]) if found and found[1] else line_at(text, len(text.rstrip()))
    return Unreadable(line, message[: found.start()] if found else message)


FORM = Form(TomlDocument, _table)
