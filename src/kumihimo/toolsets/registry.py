"""The list of toolsets, and how several are served together."""

from __future__ import annotations

from importlib import import_module

from kumihimo.domain.errors import InvalidValue, ToolsetClash
from kumihimo.toolsets.toolset import Toolset

NAMES = ("lead", "editor", "runner", "worker", "manager", "resident", "hub")
DEFAULT: tuple[str, ...] = ("lead", "editor")
# Both answer S1's whole server: a name that both have is one tool, which takes the token or does without.
_MERGED = frozenset({"worker", "manager"})


def names_of(given: str | None) -> list[str]:
    """The names in `runner,worker`; the default where nothing is said."""
    return [name.strip() for name in given.split(",")] if given else list(DEFAULT)


def toolset(name: str) -> Toolset:
    if name not in NAMES:
        raise InvalidValue("toolset", "not_a_choice", value=name[:60], choices=", ".join(NAMES))
    return import_module(f"kumihimo.toolsets.{name}").TOOLSET


def together(names: list[str]) -> list[Toolset]:
    """Toolsets that can be one server. ToolsetClash where a name means different things in two of them."""
    found = [toolset(name) for name in dict.fromkeys(names)]
    for index, one in enumerate(found):
        for other in found[index + 1 :]:
            _require_peace(one, other)
    return found


def _require_peace(one: Toolset, other: Toolset) -> None:
    if not {one.name, other.name} <= _MERGED:
        _refuse_common(one, other, {tool.name for tool in one.tools} & {tool.name for tool in other.tools})
    _refuse_common(one, other, {r.uri for r in one.resources} & {r.uri for r in other.resources})
    _refuse_common(one, other, {p.name for p in one.prompts} & {p.name for p in other.prompts})


def _refuse_common(one: Toolset, other: Toolset, common: set[str]) -> None:
    if common:
        raise ToolsetClash(one.name, other.name, sorted(common))
