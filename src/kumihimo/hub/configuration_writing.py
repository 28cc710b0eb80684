"""Adding a server to a configuration file and taking one out, with everything else in it left as it is.

A list of servers is edited as text, so that comments and order stay. What comes of it is read again before it is written:
where it is not exactly what was meant, the file is written anew from its values.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import yaml

from kumihimo.domain.errors import ConfigError, NameTaken
from kumihimo.hub import marked
from kumihimo.hub.configuration import Transport, transport_of

Table = dict[str, Any]
# What other clients call the ways in which a server is reached; on stdio they need not be told.
_TYPES: dict[Transport, str | None] = {"stdio": None, "http": "http", "sse": "sse", "websocket": "ws"}


def add_server(file: Path, name: str, entry: Mapping[str, Any]) -> None:
    """NameTaken where there is one of this name already, ConfigError where the file can't be read."""

    def change(value: Table) -> Table:
        if name in _entries(value):
            raise NameTaken("server", name)
        if "mcpServers" in value or (file.suffix == ".json" and "servers" not in value):
            return {**value, "mcpServers": {**(value.get("mcpServers") or {}), name: _for_clients(entry)}}
        return {**value, "servers": [*(value.get("servers") or []), {"name": name, **entry}]}

    _rewrite(file, change, lambda text, node: _with_item(text, node, {"name": name, **entry}))


def _for_clients(entry: Mapping[str, Any]) -> Table:
    """As other clients read it too: some refuse a server on the network that has no `type`, and `transport` is ours alone."""
    kind = _TYPES[transport_of(entry)]
    rest = {key: value for key, value in entry.items() if key not in ("transport", "type")}
    return {"type": kind, **rest} if kind is not None else rest


def remove_server(file: Path, name: str) -> None:
    """The file has it."""

    def change(value: Table) -> Table:
        if "mcpServers" in value:
            kept = {key: entry for key, entry in value["mcpServers"].items() if key != name}
            return {**value, "mcpServers": kept}
        return {**value, "servers": [entry for entry in value["servers"] if entry.get("name") != name]}

    _rewrite(file, change, lambda text, node: _without_item(text, node, name))


def entries_in(file: Path) -> dict[str, Table]:
    """The servers of a file as they are written there, by their names."""
    value = marked.read(file).value
    return _entries(cast("Table", value)) if isinstance(value, dict) else {}


def _entries(table: Table) -> dict[str, Table]:
    named = table.get("mcpServers")
    if isinstance(named, dict):
        return {str(name): entry for name, entry in cast("Table", named).items() if isinstance(entry, dict)}
    listed = table.get("servers")
    entries = cast("list[Any]", listed) if isinstance(listed, list) else []
    return {str(cast("Table", entry).get("name")): entry for entry in entries if isinstance(entry, dict)}


def _rewrite(file: Path, change: Callable[[Table], Table], edit: Callable[[str, yaml.Node | None], str | None]) -> None:
    with _alone(file):
        if not file.exists():
            _replace(file, _written(file, change({})))
            return
        found = marked.read(file)
        value = cast("Table", {} if found.value is None else found.value)
        if not isinstance(value, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - it comes from a file
            raise ConfigError(str(file), "bad_setting", reason="It is a table with 'servers' or 'mcpServers'")
        wanted = change(value)
        text = file.read_text("utf-8-sig")
        edited = None if file.suffix == ".json" else edit(text, marked.node_of(text))
        _replace(file, edited if edited is not None and _reads_as(edited, wanted) else _written(file, wanted))


def _with_item(text: str, node: yaml.Node | None, item: Table) -> str | None:
    """The text with one more item at the end of its list; None where it has no list of the ordinary kind."""
    servers = _servers(node)
    if servers is None or not servers.value:
        return None
    lines = text.splitlines(keepends=True)
    end = _end_of(lines, servers.value[-1])
    if not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    indent = " " * servers.start_mark.column
    dumped = yaml.safe_dump([item], sort_keys=False, allow_unicode=True, width=1000)
    lines[end:end] = [indent + line for line in dumped.splitlines(keepends=True)]
    return "".join(lines)


def _without_item(text: str, node: yaml.Node | None, name: str) -> str | None:
    servers = _servers(node)
    if servers is None:
        return None
    lines = text.splitlines(keepends=True)
    for item in servers.value:
        keys = {key.value: value.value for key, value in item.value} if isinstance(item, yaml.MappingNode) else {}
        if keys.get("name") == name:
            del lines[item.start_mark.line : _end_of(lines, item)]
            if len(servers.value) == 1:
                return None
            return "".join(lines)
    return None


def _servers(node: yaml.Node | None) -> yaml.SequenceNode | None:
    """The list of servers, where it is written one below the other."""
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
        if key.value == "servers" and isinstance(value, yaml.SequenceNode) and not value.flow_style:
            return value
    return None


def _end_of(lines: list[str], item: yaml.Node) -> int:
    """The line behind an item. What follows it, empty lines and comments, belongs to what comes next."""
    mark = _last(item).end_mark
    end = min(mark.line + (1 if mark.column else 0), len(lines))
    while end > item.start_mark.line + 1 and lines[end - 1].strip()[:1] in ("", "#"):
        end -= 1
    return max(end, item.start_mark.line + 1)


def _last(node: yaml.Node) -> yaml.Node:
    """The last value in it: where a table or a list itself ends is only known by what follows it."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return node


def _reads_as(text: str, wanted: Table) -> bool:
    try:
        return marked.value_of(text) == wanted
    except yaml.YAMLError:
        return False


def _written(file: Path, value: Table) -> str:
    if file.suffix == ".json":
        return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)


def _replace(file: Path, text: str) -> None:
    """Whole or not at all, with the permissions that it had."""
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    # Where a link points to is written, not the link.
    target = file.resolve()
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        fresh.write_text(text, "utf-8")
        fresh.chmod(mode)
        fresh.replace(target)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise ConfigError(str(file), "bad_setting", reason=error.strerror or str(error)) from None


@contextmanager
def _alone(file: Path) -> Generator[None]:
    """Of two that change a file at once, the second sees what the first has written."""
    try:
        folder = os.open(file.resolve().parent, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(str(file), "bad_setting", reason=error.strerror or str(error)) from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
