"""Where the tables and keys of a TOML text stand. The text has been read by `tomllib` before, so it is known to be right."""

from __future__ import annotations

import re
import tomllib

from msgspec import Struct

from kumihimo.surfaces.cli.setup.document import KeyPath

_BETWEEN = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_BLANK = re.compile(r"[ \t]*+")
_REST_OF_LINE = re.compile(r"[^\n]*+\n?")
_KEY = re.compile(r"""[A-Za-z0-9_-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+'""")
_DOT = re.compile(r"[ \t]*+\.[ \t]*+")
_SCALARS = (
    # Up to two more quotes belong to the text of a string that ends in quotes.
    re.compile(r'"""(?:\\.|[^\\])*?""""{0,2}', re.DOTALL),
    re.compile(r"'''.*?''''{0,2}", re.DOTALL),
    re.compile(r'"(?:\\.|[^"\\\n])*+"'),
    re.compile(r"'[^'\n]*+'"),
    re.compile(r"[^,\]}\s#]++(?: [0-9][^,\]}\s#]*+)?"),
)


class Header(Struct):
    """`[path]` on its line: where the line starts, and where the next one does."""

    path: KeyPath
    start: int
    end: int


class Pair(Struct):
    """`key = value`, by its whole path.

    `table` is the path of the header above. `start` and `end` are those of its lines; inside `{…}`, where it is `inline`,
    those of the pair itself.
    """

    path: KeyPath
    table: KeyPath
    start: int
    end: int
    value_start: int
    value_end: int
    inline: bool


class Layout(Struct):
    headers: list[Header]
    pairs: list[Pair]


def layout(text: str) -> Layout:
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.table: KeyPath = ()
        self.found = Layout([], [])

    def scan(self) -> Layout:
        self.pass_over(_BETWEEN)
        while self.at < len(self.text):
            start = self.text.rfind("\n", 0, self.at) + 1
            if self.text[self.at] == "[":
                self.header(start)
            else:
                self.pair(self.table, start)
            self.pass_over(_BETWEEN)
        return self.found

    def header(self, start: int) -> None:
        self.at += 2 if self.text.startswith("[[", self.at) else 1
        self.pass_over(_BLANK)
        self.table = self.key()
        self.pass_over(_REST_OF_LINE)
        self.found.headers.append(Header(self.table, start, self.at))

    def pair(self, above: KeyPath | None, start: int, inline: bool = False) -> None:
        """One pair; `above` is None inside a list, where nothing has a path that could be asked for."""
        key = self.key()
        self.pass_over(_BLANK)
        self.at += 1
        self.pass_over(_BLANK)
        value_start, path = self.at, None if above is None else above + key
        kept = len(self.found.pairs)
        self.value(path)
        value_end = self.at
        if not inline:
            self.pass_over(_REST_OF_LINE)
        if path is not None:
            self.found.pairs.insert(kept, Pair(path, self.table, start, self.at, value_start, value_end, inline))

    def key(self) -> KeyPath:
        parts: list[str] = []
        while found := _KEY.match(self.text, self.at):
            part = found[0]
            parts.append(tomllib.loads(f"key = {part}")["key"] if part[0] in "\"'" else part)
            self.at = found.end()
            if not (dot := _DOT.match(self.text, self.at)):
                break
            self.at = dot.end()
        return tuple(parts)

    def value(self, path: KeyPath | None) -> None:
        letter = self.text[self.at]
        if letter == "[":
            self.each_until("]", None)
        elif letter == "{":
            self.each_until("}", path)
        else:
            self.at = next(found.end() for pattern in _SCALARS if (found := pattern.match(self.text, self.at)))

    def each_until(self, brace: str, path: KeyPath | None) -> None:
        self.at += 1
        self.pass_over(_BETWEEN)
        while self.text[self.at] != brace:
            if brace == "}":
                self.pair(path, self.at, inline=True)
            else:
                self.value(None)
            self.pass_over(_BETWEEN)
            if self.text[self.at] == ",":
                self.at += 1
                self.pass_over(_BETWEEN)
        self.at += 1

    def pass_over(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self.text, self.at):
            self.at = found.end()
