"""A configuration file as plain values, together with the line where each of them stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import yaml

from kumihimo.domain.errors import ConfigError
from kumihimo.hub import variables

# `command: @scope/package`, as the design of the configuration itself has it, is not YAML until it is quoted.
_BARE_AT = re.compile(r"^(\s*(?:- +)?[\w.-]+: +|\s*- +)(@[^#\n]*?)[ \t]*$", re.MULTILINE)
_MERGED = "tag:yaml.org,2002:merge"


class Marked:
    """`value` is what the file says, `where(path)` names the file and the line of a place in it."""

    def __init__(self, file: Path, value: Any, lines: dict[variables.Path, int]) -> None:
        self.file = file
        self.value = value
        self._lines = lines

    def where(self, path: variables.Path) -> str:
        """The nearest place around it that has a line."""
        for length in range(len(path), -1, -1):
            if (line := self._lines.get(path[:length])) is not None:
                return f"{self.file}:{line}"
        return str(self.file)


def read(file: Path) -> Marked:
    """ConfigError where it can't be read."""
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(str(file), "bad_setting", reason=error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise ConfigError(str(file), "bad_setting", reason="It is not UTF-8 text") from None
    return _json(file, text) if file.suffix == ".json" else _yaml(file, text)


def node_of(text: str) -> yaml.Node | None:
    """YAML with the places of its parts. yaml.YAMLError where it is none."""
    return _composed(text)[0]


def value_of(text: str) -> Any:
    """yaml.YAMLError where it is no YAML."""
    return _composed(text)[1]


def _json(file: Path, text: str) -> Marked:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{file}:{error.lineno}", "bad_setting", reason=f"It is not JSON: {error.msg}") from None
    except RecursionError:
        raise ConfigError(str(file), "bad_setting", reason="It is nested too deeply") from None
    try:
        # JSON is YAML but for its tabs, which in valid JSON are never part of a text.
        node = _compose(text.replace("\t", " "))
    except (yaml.YAMLError, RecursionError):
        # Lines are a help: without them the mistake is told with the file alone.
        return Marked(file, value, {})
    return Marked(file, value, _lines(file, node))


def _yaml(file: Path, text: str) -> Marked:
    try:
        node, value = _composed(text)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{file}{line}", "bad_setting", reason=f"It is not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(str(file), "bad_setting", reason=f"It is not YAML: {error}") from None
    except RecursionError:
        raise ConfigError(str(file), "bad_setting", reason="It is nested too deeply") from None
    return Marked(file, value, _lines(file, node))


def _composed(text: str) -> tuple[yaml.Node | None, Any]:
    try:
        return _compose(text), yaml.safe_load(text)
    except yaml.YAMLError:
        quoted = _BARE_AT.sub(lambda found: f"{found[1]}{json.dumps(found[2], ensure_ascii=False)}", text)
        if quoted == text:
            raise
        return _compose(quoted), yaml.safe_load(quoted)


def _compose(text: str) -> yaml.Node | None:
    composed: yaml.Node | None = cast("Any", yaml).compose(text, Loader=yaml.SafeLoader)
    return composed


def _lines(file: Path, node: yaml.Node | None) -> dict[variables.Path, int]:
    """ConfigError where a table has a key twice: the first would count for nothing, without a word."""
    found: dict[variables.Path, int] = {}
    # A list of what is still to be looked at: a file may be nested deeper than we may call ourselves.
    waiting: list[tuple[variables.Path, yaml.Node]] = [] if node is None else [((), node)]
    # What is referred to again has its lines once: it may be referred to without end, even by itself.
    seen: set[int] = set()
    while waiting:
        path, node = waiting.pop()
        found.setdefault(path, node.start_mark.line + 1)
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _require_once(file, node)
            for key, value in node.value:
                place = (*path, str(key.value))
                found[place] = key.start_mark.line + 1
                waiting.append((place, value))
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(((*path, index), member) for index, member in enumerate(node.value))
    return found


def _require_once(file: Path, table: yaml.MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in cast("list[tuple[yaml.Node, yaml.Node]]", table.value):
        # What is merged in by `<<` is said elsewhere, and there may be several of it.
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGED:
            continue
        said, line = (key.tag, key.value), key.start_mark.line + 1
        if said in lines:
            reason = f"'{key.value}' is there twice, on line {lines[said]} already: only one can count"
            raise ConfigError(f"{file}:{line}", "bad_setting", reason=reason)
        lines[said] = line
