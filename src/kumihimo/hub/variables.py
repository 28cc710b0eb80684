"""`${NAME}` in a configuration: the value of a variable, `${NAME:-text}` with what stands for one that is not set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

PROJECT_ROOT = "PROJECT_ROOT"
_WRITTEN = re.compile(r"\$\$\{|\$\{([^}]*)\}")
_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)

Path = tuple[str | int, ...]


class Undefined(Exception):
    """`path` is where in the value it was found; `name` is the variable, where one was named."""

    def __init__(self, path: Path, reason: str, name: str = "") -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason
        self.name = name


def expanded(value: Any, variables: Mapping[str, str], path: Path = ()) -> Any:
    """The value with every variable in its texts replaced; `$${` is a plain `${`. Undefined where one has no value."""
    if isinstance(value, str):
        return _text(value, variables, path) if "${" in value else value
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: expanded(entry, variables, (*path, key)) for key, entry in entries.items()}
    if isinstance(value, list | tuple):
        members = cast("list[Any]", value)
        return [expanded(member, variables, (*path, index)) for index, member in enumerate(members)]
    return value


def _text(text: str, variables: Mapping[str, str], path: Path) -> str:
    def value(found: re.Match[str]) -> str:
        if found[0] == "$${":
            return "${"
        named = _NAMED.fullmatch(found[1])
        if named is None:
            raise Undefined(
                path, f"'{found[0]}' names no variable: write '${{NAME}}', or '$${{' for the two signs themselves"
            )
        name, instead = named[1], named[2]
        if (known := variables.get(name)) is not None and (known or instead is None):
            return known
        if instead is None:
            raise Undefined(path, f"the variable {name} is not set in the environment", name)
        return instead

    return _WRITTEN.sub(value, text)
