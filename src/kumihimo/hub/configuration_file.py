"""Configuration in its two forms, `mcpServers` and `servers`, from files or from values, with the place of a mistake."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from kumihimo.domain.errors import ConfigError
from kumihimo.domain.ourselves import is_own
from kumihimo.hub import marked
from kumihimo.hub.configuration import Mistake, Options, ServerConfig, keys_of, options_of, server_of
from kumihimo.hub.variables import PROJECT_ROOT, Undefined, expanded
from kumihimo.hub.variables import Path as Place

Where = Callable[[Place], str]
_USUAL = Options()


class Definition(Struct, frozen=True):
    """A server with its variables not yet filled in: each worktree may have its own PROJECT_ROOT."""

    config: ServerConfig
    variables: Mapping[str, str]
    where: str

    @property
    def name(self) -> str:
        return self.config.name

    def means_the_same(self, other: Definition) -> bool:
        """Wherever in its file it stands now."""
        return (self.config, self.variables) == (other.config, other.variables)

    def at(self, folder: Path) -> ServerConfig:
        """What it is in this folder. ConfigError where a variable is not set."""
        if b"${" not in msgspec.json.encode(self.config):
            return self.config
        plain = msgspec.to_builtins(self.config)
        try:
            filled = expanded(plain, {**self.variables, PROJECT_ROOT: str(folder)})
        except Undefined as error:
            raise _undefined(error, self.where) from None
        return msgspec.convert(filled, ServerConfig)


class Configuration(Struct, frozen=True):
    servers: tuple[Definition, ...]
    options: Options


def load(files: Sequence[Path], variables: Mapping[str, str], root: Path) -> Configuration:
    """Several files together: of two servers with one name the first counts, and of options the first that are said. What a
    server doesn't say is said by its own file, or else by those."""
    read = [marked.read(file) for file in files]
    said = (_options(found.value, found.where) for found in read)
    options = next((it for it in said if it is not None), _USUAL)
    servers: dict[str, Definition] = {}
    for found in read:
        for definition in _of_file(found, variables, root, options).servers:
            servers.setdefault(definition.name, definition)
    return Configuration(tuple(servers.values()), options)


def from_file(file: Path, variables: Mapping[str, str], root: Path) -> Configuration:
    """ConfigError with file and line where there is a mistake. This program itself is passed over: its files are those of
    other clients too, who have it, and an agent that reached it through the hub would be the owner."""
    return _of_file(marked.read(file), variables, root, _USUAL)


def _of_file(found: marked.Marked, variables: Mapping[str, str], root: Path, usual: Options) -> Configuration:
    return from_value(found.value, variables, root, found.where, usual=usual, ourselves=False)


def from_value(
    value: Any,
    variables: Mapping[str, str],
    root: Path,
    where: Where,
    *,
    usual: Options = _USUAL,
    ourselves: bool = True,
) -> Configuration:
    """`usual` are the options where it says none."""
    if value is None:
        return Configuration((), usual)
    if not isinstance(value, dict):
        raise ConfigError(where(()), "bad_setting", reason="It is a table with 'servers' or 'mcpServers'")
    table = cast("dict[str, Any]", value)
    foreign = "mcpServers" in table
    # A table of that name is another client's: ours is a list.
    if foreign and isinstance(table.get("servers"), list):
        reason = "'mcpServers' and 'servers' are in one file: only one can count, so put all servers into one of them"
        raise ConfigError(where(("servers",)), "bad_setting", reason=reason)
    if not foreign and (unknown := next((key for key in table if key not in ("servers", "options")), None)):
        raise _unknown((unknown,), unknown, ("servers", "options", "mcpServers"), where)
    said = _options(table, where)
    options = usual if said is None else said
    entries = _foreign(table["mcpServers"], where) if foreign else _listed(table.get("servers"), where)
    servers: dict[str, Definition] = {}
    for place, entry in entries:
        if not ourselves and is_ourselves(entry, variables, root):
            continue
        definition = define(entry, options, variables, root, where=where, place=place, foreign=foreign)
        if definition.name in servers:
            raise ConfigError(
                where((*place, "name")), "bad_setting", reason=f"Two servers are called '{definition.name}'"
            )
        servers[definition.name] = definition
    return Configuration(tuple(servers.values()), options)


def _options(value: Any, where: Where) -> Options | None:
    """None where it says none."""
    entry = cast("dict[str, Any]", value).get("options") if isinstance(value, dict) else None
    return None if entry is None else _told(where, ("options",), lambda: options_of(entry))


def define(
    entry: Any,
    options: Options,
    variables: Mapping[str, str],
    root: Path,
    *,
    where: Where,
    place: Place = (),
    foreign: bool = False,
) -> Definition:
    """One server, looked at as a whole: also its variables must have values."""
    config = _told(where, place, lambda: server_of(entry, options, foreign=foreign))
    try:
        expanded(entry, {**variables, PROJECT_ROOT: str(root)}, place)
    except Undefined as error:
        raise _undefined(error, where(error.path)) from None
    return Definition(config, variables, where(place))


def is_ourselves(entry: Any, variables: Mapping[str, str], root: Path) -> bool:
    """Looked at before anything else in it, which is for others to judge."""
    if not isinstance(entry, dict):
        return False
    table = cast("dict[str, Any]", entry)
    args = table.get("args")
    words = [word for word in cast("list[Any]", args) if isinstance(word, str)] if isinstance(args, list) else []
    texts = {key: text for key in ("command", "url") if isinstance(text := table.get(key), str)}
    reached: dict[str, Any] = {**texts, "args": words}
    # Where one has no value, what it is called without them may be enough.
    with suppress(Undefined):
        reached = expanded(reached, {**variables, PROJECT_ROOT: str(root)})
    return is_own(str(table.get("name", "")), reached)


def _undefined(error: Undefined, where: str) -> ConfigError:
    if error.name:
        return ConfigError(where, "no_variable", name=error.name)
    return ConfigError(where, "bad_setting", reason=error.reason)


def _listed(servers: Any, where: Where) -> list[tuple[Place, Any]]:
    if servers is None:
        return []
    if not isinstance(servers, list):
        raise ConfigError(where(("servers",)), "bad_setting", reason="'servers' is a list, each with a name")
    members = cast("list[Any]", servers)
    return [(("servers", index), member) for index, member in enumerate(members)]


def _foreign(servers: Any, where: Where) -> list[tuple[Place, Any]]:
    if not isinstance(servers, dict):
        raise ConfigError(
            where(("mcpServers",)), "bad_setting", reason="'mcpServers' is a table of servers by their names"
        )
    table = cast("dict[str, dict[str, Any]]", servers)
    entries: list[tuple[Place, Any]] = []
    for name, entry in table.items():
        place: Place = ("mcpServers", name)
        if not isinstance(entry, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - it comes from a file
            raise ConfigError(where(place), "bad_setting", reason=f"The server '{name}' is a table")
        if entry.get("disabled") is not True:
            entries.append((place, {**entry, "name": name}))
    return entries


def _told(where: Where, place: Place, look: Callable[[], Any]) -> Any:
    try:
        return look()
    except Mistake as mistake:
        path = (*place, *mistake.path)
        if mistake.unknown is not None:
            kind = Options if place == ("options",) else ServerConfig
            known = keys_of(mistake.path[:-1]) or [field.encode_name for field in msgspec.structs.fields(kind)]
            raise _unknown(path, mistake.unknown, known, where) from None
        raise ConfigError(where(path), "bad_setting", reason=mistake.reason) from None


def _unknown(path: Place, key: str, known: Sequence[str], where: Where) -> ConfigError:
    near = difflib.get_close_matches(key, known, n=1)
    return ConfigError(where(path), "unknown_key", key=key, near=near[0] if near else None)


def place_in_values(path: tuple[str | int, ...]) -> str:
    """A place in values that came from no file."""
    written = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return written.lstrip(".") or "the server"
