"""A Serena works on one project: what its configuration need not say, because it follows from that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast

from kumihimo.hub.variables import PROJECT_ROOT

NAME = "serena"
_STARTS = "start-mcp-server"
_PROJECT = ("--project", "--project-file")
_FOUND = "--project-from-cwd"
# There the project has another path.
_ELSEWHERE = ("docker", "podman", "nerdctl", "ssh")


def is_serena(given: Mapping[str, Any]) -> bool:
    """By its name, or by what is started."""
    if str(given.get("name", "")).lower() == NAME:
        return True
    args = _args(given)
    # A word with a slash may be anybody's folder.
    words = [word for word in args if "/" not in word and (_STARTS in args or word.endswith("-mcp-server"))]
    return _on_stdio(given) and any(_program(word) == NAME for word in (given.get("command"), *words))


def settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with its project: that of the worktree, with an instance for each, unless it names another."""
    if not is_serena(given) or not _on_stdio(given):
        return dict(given)
    args = _args(given)
    named = _project(args)
    of_the_worktree = {"per_worktree": named is None or PROJECT_ROOT in named}
    silent = named is None and _STARTS in args and _FOUND not in args
    if silent and _program(given.get("command")) not in _ELSEWHERE:
        return {**of_the_worktree, **given, "args": [*args, "--project", f"${{{PROJECT_ROOT}}}"]}
    return {**of_the_worktree, **given}


def _on_stdio(given: Mapping[str, Any]) -> bool:
    return given.get("transport") == "stdio"


def _args(given: Mapping[str, Any]) -> list[str]:
    # Whether it is a list of texts is looked at later, together with everything else.
    args = given.get("args")
    if not isinstance(args, Sequence) or isinstance(args, str):
        return []
    words = list(cast("Sequence[Any]", args))
    return words if all(isinstance(word, str) for word in words) else []


def _program(word: object) -> str:
    """`serena` of `serena`, `/opt/bin/serena-mcp` and `serena-agent==1.0`."""
    name = PurePath(word).name if isinstance(word, str) else ""
    for ending in ("-mcp-server", "-mcp", "-agent"):
        name = name.partition("==")[0].removesuffix(ending)
    return name


def _project(args: Sequence[str]) -> str | None:
    for at, word in enumerate(args):
        option, equals, value = word.partition("=")
        if option in _PROJECT:
            return value if equals else next(iter(args[at + 1 : at + 2]), "")
    return None
