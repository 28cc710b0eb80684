"""JSON with comments and trailing commas, read with the place of every member of every object."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from msgspec import Struct

from kumihimo.surfaces.cli.setup.document import line_at
from kumihimo.surfaces.cli.setup.refusal import Unreadable

# Deeper than any configuration, and far from where Python itself gives up.
DEEPEST = 150

_BLANK = re.compile(r"[ \t\r\n]*+")
_LINE_COMMENT = re.compile(r"//[^\r\n]*+")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![0-9A-Za-z.+-])")
_WORD = re.compile(r"(?:true|false|null)(?![0-9A-Za-z_])")


class Member(Struct):
    """`"key": value,` in the text: where the key starts, the value, and the comma if there is one."""

    key: str
    start: int
    value_start: int
    end: int
    node: Node | None
    comma: int | None = None


class Node(Struct):
    """An object: from its brace to behind its other brace."""

    start: int
    end: int
    members: list[Member]

    def member(self, key: str) -> Member | None:
        """The last one of that name: the one that counts where a name is there twice."""
        return next((member for member in reversed(self.members) if member.key == key), None)


class Parsed(Struct):
    """`root` is None where the text has no value at all, or one that is no object."""

    value: Any
    root: Node | None
    empty: bool
    comment: int | None
    trailing_comma: int | None


def parse(text: str) -> Parsed:
    """The text read. Unreadable says the line and what is wrong there."""
    return _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.comment: int | None = None
        self.trailing_comma: int | None = None

    def document(self) -> Parsed:
        self.skip()
        if self.at == len(self.text):
            return Parsed({}, None, True, self.comment, None)
        value, root = self.value(0)
        self.skip()
        if self.at < len(self.text):
            self.fail("json_more")
        return Parsed(value, root, False, self.comment, self.trailing_comma)

    def skip(self) -> None:
        """Over blanks and comments."""
        while True:
            self.at = self.pattern_end(_BLANK)
            if self.text.startswith("//", self.at):
                self.note_comment()
                self.at = self.pattern_end(_LINE_COMMENT)
            elif self.text.startswith("/*", self.at):
                self.note_comment()
                end = self.text.find("*/", self.at + 2)
                if end < 0:
                    self.fail("json_comment")
                self.at = end + 2
            else:
                return

    def note_comment(self) -> None:
        if self.comment is None:
            self.comment = self.at

    def value(self, depth: int) -> tuple[Any, Node | None]:
        letter = self.text[self.at : self.at + 1]
        if depth > DEEPEST:
            self.fail("too_deep")
        if letter == "{":
            return self.object(depth)
        if letter == "[":
            return self.array(depth), None
        if letter == '"':
            return self.string(), None
        found = _NUMBER.match(self.text, self.at) or _WORD.match(self.text, self.at)
        if found is None:
            self.fail("json_value")
        self.at = found.end()
        return json.loads(found[0]), None

    def object(self, depth: int) -> tuple[dict[str, Any], Node]:
        node = Node(self.at, self.at, [])
        found: dict[str, Any] = {}
        self.at += 1
        while not self.closes("}", bool(node.members), node.members[-1].comma if node.members else None):
            start = self.at
            if self.text[start : start + 1] != '"':
                self.fail("json_key")
            key = self.string()
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                self.fail("json_colon")
            self.at += 1
            self.skip()
            value_start = self.at
            found[key], below = self.value(depth + 1)
            node.members.append(Member(key, start, value_start, self.at, below))
            node.members[-1].comma = self.take_comma()
        node.end = self.at
        return found, node

    def array(self, depth: int) -> list[Any]:
        found: list[Any] = []
        comma: int | None = None
        self.at += 1
        while not self.closes("]", bool(found), comma):
            found.append(self.value(depth + 1)[0])
            comma = self.take_comma()
        return found

    def take_comma(self) -> int | None:
        self.skip()
        if self.text[self.at : self.at + 1] != ",":
            return None
        self.at += 1
        return self.at - 1

    def closes(self, brace: str, begun: bool, comma: int | None) -> bool:
        """Whether it ends here; if not, that there is a comma between what was and what comes."""
        self.skip()
        if self.at == len(self.text):
            self.fail("json_open")
        if self.text[self.at] == brace:
            if comma is not None and self.trailing_comma is None:
                self.trailing_comma = comma
            self.at += 1
            return True
        if begun and comma is None:
            self.fail("json_comma")
        return False

    def string(self) -> str:
        found = _STRING.match(self.text, self.at)
        if found is None:
            self.fail("json_string")
        self.at = found.end()
        return json.loads(found[0])

    def pattern_end(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self.text, self.at)
        return found.end() if found else self.at

    def fail(self, reason: str) -> NoReturn:
        raise Unreadable(line_at(self.text, self.at), reason)
