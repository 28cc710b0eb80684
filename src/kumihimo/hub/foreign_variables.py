"""Variables in the texts of other clients, as we write them: `${NAME}`, and `$${` for what only looks like one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, cast

from kumihimo.hub.tools import Table
from kumihimo.hub.variables import PROJECT_ROOT

# How they are written: `claude` as we do, `editor` as `${env:NAME}`, `gemini` also as `$NAME`, `plain` not at all.
Dialect = Literal["claude", "editor", "gemini", "plain"]
_BRACED = re.compile(r"\$\{([^}]*)\}")
_DOLLAR = re.compile(r"\$([A-Za-z_]\w*)")
_NAMED = re.compile(r"[A-Za-z_]\w*(?::-.*)?", re.DOTALL)
_NEEDED = re.compile(r"\$\$\{|\$\{([A-Za-z_]\w*)\}")
_PLACES = {"workspaceFolder": f"${{{PROJECT_ROOT}}}", "userHome": "${HOME}", "pathSeparator": "/", "/": "/"}


class EditorsOwn(Exception):
    """A variable that has no value outside of the editor."""


def translated(value: Any, dialect: Dialect) -> Any:
    """The value with the variables in all its texts as we write them. EditorsOwn where one can't be had."""
    if isinstance(value, str):
        return _SPEAKING[dialect](value)
    if isinstance(value, dict):
        return {key: translated(member, dialect) for key, member in cast("Table", value).items()}
    if isinstance(value, list):
        return [translated(member, dialect) for member in cast("list[Any]", value)]
    return value


def variables_in(value: Any) -> tuple[str, ...]:
    """Those of an entry of ours that must be set, each once."""
    if isinstance(value, str):
        names = [found[1] for found in _NEEDED.finditer(value) if found[1] and found[1] != PROJECT_ROOT]
    elif isinstance(value, dict):
        names = [name for member in cast("Table", value).values() for name in variables_in(member)]
    elif isinstance(value, list):
        names = [name for member in cast("list[Any]", value) for name in variables_in(member)]
    else:
        names = []
    return tuple(dict.fromkeys(names))


def _plain(text: str) -> str:
    return text.replace("${", "$${")


def _claudes(text: str) -> str:
    return _BRACED.sub(lambda found: found[0] if _NAMED.fullmatch(found[1]) else f"${found[0]}", text)


def _geminis(text: str) -> str:
    return _claudes(_DOLLAR.sub(r"${\1}", text))


def _editors(text: str) -> str:
    return _BRACED.sub(_editors_variable, text)


def _editors_variable(found: re.Match[str]) -> str:
    kind, colon, name = found[1].partition(":")
    if found[1] in _PLACES:
        return _PLACES[found[1]]
    if kind == "env" and _NAMED.fullmatch(name):
        return f"${{{name}}}"
    if kind == "input":
        # The editor asks for it. Here it comes from the environment.
        return f"${{{re.sub('[^A-Za-z0-9_]', '_', name).upper()}}}"
    if colon or kind.startswith(("workspaceFolder", "file", "cwd")):
        raise EditorsOwn(f"'{found[0]}' is known to the editor alone")
    return f"${found[0]}"


_SPEAKING: dict[Dialect, Callable[[str], str]] = {
    "claude": _claudes,
    "editor": _editors,
    "gemini": _geminis,
    "plain": _plain,
}
