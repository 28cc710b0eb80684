"""A JSON file edited as text: comments, order, indentation and line endings of the rest stay as they were."""

from __future__ import annotations

import json
from typing import Any, cast

from kumihimo.surfaces.cli.setup.document import Form, KeyPath, indentation_at, line_at, newline_of
from kumihimo.surfaces.cli.setup.json_syntax import Member, Node, parse


class JsonDocument:
    def __init__(self, text: str) -> None:
        self.text = text
        self._parsed = parse(text)

    @property
    def value(self) -> Any:
        return self._parsed.value

    @property
    def oddities(self) -> dict[str, int]:
        """What is not plain JSON here, with the line of the first."""
        found = {"comment": self._parsed.comment, "trailing_comma": self._parsed.trailing_comma}
        return {kind: line_at(self.text, at) for kind, at in found.items() if at is not None}

    def line_of(self, path: KeyPath) -> int:
        found, _ = self._walk(path)
        return line_at(self.text, found[-1].start if found else 0)

    def put(self, path: KeyPath, value: Any) -> JsonDocument:
        if self._parsed.empty:
            return self._begun(path, value)
        found, deepest = self._walk(path)
        if len(found) == len(path):
            return self._replaced(found[-1], value)
        return self._inserted(deepest, path[len(found)], _nested(path[len(found) + 1 :], value))

    def remove(self, path: KeyPath) -> JsonDocument:
        """Without the key, as often as it is there."""
        found, _ = self._walk(path)
        if len(found) < len(path):
            return self
        member, node = found[-1], self._walk(path[:-1])[1]
        if member.comma is not None:
            return JsonDocument(_without(self.text, member.start, member.comma + 1)).remove(path)
        text = _without(self.text, member.start, member.end)
        before = node.members.index(member) - 1
        if before >= 0 and (comma := node.members[before].comma) is not None:
            text = text[:comma] + text[comma + 1 :]
        return JsonDocument(text).remove(path)

    def _walk(self, path: KeyPath) -> tuple[list[Member], Node]:
        """The members along the path as far as they are there, and the last object that was reached."""
        node = self._parsed.root
        assert node is not None, "who asks has seen that the document is an object"
        found: list[Member] = []
        for key in path:
            member = node.member(key)
            if member is None:
                break
            found.append(member)
            if member.node is None:
                break
            node = member.node
        return found, node

    def _begun(self, path: KeyPath, value: Any) -> JsonDocument:
        """A file with nothing in it, or with comments only, which stay above."""
        newline = newline_of(self.text)
        above = self.text.rstrip()
        whole = rendered(_nested(path, value), "", "  ", newline)
        return JsonDocument((above + newline if above else "") + whole + newline)

    def _replaced(self, member: Member, value: Any) -> JsonDocument:
        indentation = indentation_at(self.text, member.start)
        new = rendered(value, indentation, self._unit(), newline_of(self.text))
        return JsonDocument(self.text[: member.value_start] + new + self.text[member.end :])

    def _inserted(self, node: Node, key: str, value: Any) -> JsonDocument:
        """One more member behind the others, laid out as they are: on a line of its own, or on their line."""
        text, inside = self.text, self.text[node.start + 1 : node.end - 1]
        end = node.start + 1 + len(inside.rstrip())
        newline, closing = newline_of(text), indentation_at(text, node.start)
        many_lines = "\n" in inside or (not node.members and ("\n" in text.strip() or node is self._parsed.root))
        name = json.dumps(key, ensure_ascii=False)
        if many_lines:
            indentation = self._member_indentation(node)
            added = f"{newline}{indentation}{name}: {rendered(value, indentation, self._unit(), newline)}"
            if "\n" not in text[end : node.end - 1]:
                added += newline + closing
        else:
            added = f"{' ' if node.members else ''}{name}: {json.dumps(value, ensure_ascii=False)}"
        text = text[:end] + added + text[end:]
        if node.members and node.members[-1].comma is None:
            last = node.members[-1].end
            text = text[:last] + "," + text[last:]
        return JsonDocument(text)

    def _member_indentation(self, node: Node) -> str:
        if node.members:
            start = node.members[0].start
            indentation = indentation_at(self.text, start)
            if self.text.endswith("\n" + indentation, 0, start):
                return indentation
        return indentation_at(self.text, node.start) + self._unit()

    def _unit(self) -> str:
        """One step of indentation: that of the first member of the whole."""
        root = self._parsed.root
        first = indentation_at(self.text, root.members[0].start) if root and root.members else ""
        outer = indentation_at(self.text, root.start) if root else ""
        return first.removeprefix(outer) or "  "


def rendered(value: Any, indentation: str, unit: str, newline: str) -> str:
    """A value as people write it: objects over several lines, lists of words on one."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indentation + unit
    lines = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {rendered(item, inner, unit, newline)}"
        for key, item in cast("dict[str, Any]", value).items()
    ]
    return "{" + newline + f",{newline}".join(lines) + newline + indentation + "}"


def _snippet(path: KeyPath, entry: dict[str, Any]) -> str:
    return rendered(_nested(path, entry), "", "  ", "\n") + "\n"


def _nested(path: KeyPath, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _without(text: str, start: int, end: int) -> str:
    """The text without this part, and without the line that would be left blank."""
    line = text.rfind("\n", 0, start) + 1
    rest = text.find("\n", end)
    if rest >= 0 and not text[line:start].strip() and not text[end:rest].strip():
        return text[:line] + text[rest + 1 :]
    return text[:start] + text[end:].removeprefix(" ")


FORM = Form(JsonDocument, _snippet)
