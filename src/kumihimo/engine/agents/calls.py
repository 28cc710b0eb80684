"""The tool calls of a stream: those that wait for their answer, and the files that they have touched.

Both are bounded. An agent may run for days, and a reader must not grow with it.
"""

from __future__ import annotations

import re
from typing import Any, cast

from msgspec import Struct

from kumihimo.engine.agents.happenings import FileChanged, Happening, ToolAnswered, ToolCalled

_MOST_OPEN = 1024
_MOST_PATHS = 4096
_LONGEST_PATH = 4096
_LONGEST_NAME = 200
_LONGEST_VALUE = 80
_LONGEST_ARGUMENTS = 200
SECRET = re.compile(r"token|secret|passw|passkey|api_?key|authorization|credential", re.IGNORECASE)


class Call(Struct, frozen=True):
    tool: str
    # The file that it writes, where it writes one.
    path: str = ""
    # Whether it can only make a new file (True), only change one (False), or either.
    creates: bool | None = None


class Calls:
    """What an agent has called and not yet been answered."""

    def __init__(self) -> None:
        self._open: dict[str, Call] = {}
        self._paths: dict[str, None] = {}

    def begin(self, call: str, what: Call, arguments: object) -> list[Happening]:
        """Told at its first sight, and not again until it is answered."""
        call = call[:_LONGEST_NAME]
        if call in self._open:
            return []
        if len(self._open) >= _MOST_OPEN:
            del self._open[next(iter(self._open))]
        tool = what.tool[:_LONGEST_NAME]
        self._open[call] = Call(tool, what.path[:_LONGEST_PATH], what.creates)
        return [ToolCalled(call, tool, short(arguments))]

    def answer(self, call: str, ok: bool) -> tuple[Call | None, list[Happening]]:
        """The call that this answers, where it is known."""
        call = call[:_LONGEST_NAME]
        return self._open.pop(call, None), [ToolAnswered(call, ok)]

    def saw(self, path: str) -> None:
        """A file that is there: who writes it later changes it."""
        if len(self._paths) >= _MOST_PATHS:
            del self._paths[next(iter(self._paths))]
        self._paths[path[:_LONGEST_PATH]] = None

    def wrote(self, path: str, creates: bool | None) -> list[Happening]:
        """A file that was written. Where the stream does not tell a new file from a changed one, one that the stream
        has not shown before counts as new, and is marked as a guess: who has the folder can look."""
        path = path[:_LONGEST_PATH]
        if not path:
            return []
        known = path in self._paths
        self.saw(path)
        if creates is not None:
            return [FileChanged(path, creates)]
        return [FileChanged(path, not known, guessed=not known)]


def short(arguments: object) -> str:
    """Enough of a call's arguments to recognise it, in one line, without what looks like a secret."""
    if isinstance(arguments, dict):
        parts = [
            f"{_line(name)}={'***' if SECRET.search(str(name)[:_LONGEST_VALUE]) else _line(value)}"
            for name, value in list(cast("dict[Any, Any]", arguments).items())[:6]
        ]
        return ", ".join(parts)[:_LONGEST_ARGUMENTS]
    return _line(arguments, _LONGEST_ARGUMENTS)


def _line(value: object, longest: int = _LONGEST_VALUE) -> str:
    if isinstance(value, str):
        shown = value[: longest * 2]
    elif isinstance(value, list | dict):
        shown = "…" if value else "-"
    else:
        shown = "" if value is None else str(value)[:longest]
    shown = " ".join(shown.split())
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
