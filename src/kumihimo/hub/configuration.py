"""What a hub is configured with: its servers, and its options with their defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from kumihimo.hub.errors import Code

Milliseconds = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=1)]
Transport = Literal["stdio", "http", "sse", "websocket"]
Kind = TypeVar("Kind")
_STEP = re.compile(r"\.([^.\[]+)|\[([^\]]*)\]")
_UNKNOWN = re.compile(r"unknown field `([^`]*)`")


class RetryPolicy(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """N retries are N+1 tries; each wait is the one before times the multiplier, up to the longest."""

    max_retries: Annotated[int, Meta(ge=0, le=100)] = 3
    initial_delay: Annotated[int, Meta(ge=0)] = 1000
    max_delay: Annotated[int, Meta(ge=0)] = 10000
    backoff_multiplier: Annotated[float, Meta(ge=1)] = 2.0
    retryable_errors: tuple[Code, ...] | None = None

    def delay_seconds(self, retries: int) -> float:
        """How long to wait before the retry with this number, from 0."""
        # An exponent that has passed the longest wait long ago must not overflow.
        factor = self.backoff_multiplier ** min(retries, 64)
        return min(self.initial_delay * factor, self.max_delay) / 1000


class Sandbox(Struct, frozen=True, forbid_unknown_fields=True):
    """What a server on stdio may reach: the network or not, and these folders."""

    network: bool = False
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    max_parallel: Count = 10
    timeout: Milliseconds = 30000
    retry_policy: RetryPolicy = RetryPolicy()
    max_connections: Count = 64
    debug: bool = False


class ServerConfig(
    Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, rename={"retry_policy": "retryPolicy"}
):
    """One server. Texts may hold variables; what is not said is taken from the options."""

    name: Annotated[str, Meta(min_length=1, max_length=128)]
    transport: Transport
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    timeout: Milliseconds
    retry_policy: RetryPolicy
    cache: bool = False
    sandbox: Sandbox | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    per_worktree: bool = False
    debug: bool = False

    def permits(self, tool: str) -> bool:
        """Deny wins."""
        return tool not in self.deny and (self.allow is None or tool in self.allow)


class Mistake(Exception):
    """`path` is the place of it, inside what was looked at."""

    def __init__(self, path: tuple[str | int, ...], reason: str, unknown: str | None = None) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason
        self.unknown = unknown


_TYPES: dict[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
    "ws": "websocket",
    "websocket": "websocket",
}


def options_of(entry: Any) -> Options:
    """Mistake where there is one."""
    return _converted({} if entry is None else entry, Options)


def server_of(entry: Any, options: Options, *, foreign: bool = False) -> ServerConfig:
    """`foreign`: keys that other clients have for themselves are passed over. Mistake where there is one."""
    if not isinstance(entry, Mapping):
        raise Mistake((), "A server is a table with a name, and a command or a url")
    given: dict[str, Any] = {str(key): value for key, value in entry.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    # A key with nothing behind it says nothing.
    given = {key: value for key, value in given.items() if value is not None}
    known = {field.encode_name for field in msgspec.structs.fields(ServerConfig)}
    if "perWorktree" in given:
        given["per_worktree"] = given.pop("perWorktree")
    given["transport"] = _transport(given)
    given.pop("type", None)
    if foreign:
        given = {key: value for key, value in given.items() if key in known}
    given.setdefault("timeout", options.timeout)
    given.setdefault("debug", options.debug)
    # A policy of its own may say less than all: the rest is that of the options.
    policy = given.get("retryPolicy", {})
    if isinstance(policy, Mapping):
        given["retryPolicy"] = {**msgspec.to_builtins(options.retry_policy), **policy}
    server = _converted(given, ServerConfig)
    _check(server)
    return server


def _transport(given: dict[str, Any]) -> str:
    key = "transport" if "transport" in given else "type"
    if key in given:
        said = given[key]
        found = _TYPES.get(said) if isinstance(said, str) else None
        if found is None:
            raise Mistake((key,), f"'{said}' is no transport: there are stdio, http, sse and websocket")
        return found
    if "command" in given:
        return "stdio"
    if "url" in given:
        return "websocket" if str(given["url"]).startswith(("ws://", "wss://")) else "http"
    raise Mistake((), "A server has a command, or a url")


def _check(server: ServerConfig) -> None:
    if ":" in server.name or server.name != server.name.strip():
        raise Mistake(("name",), f"'{server.name}' can't be the name of a server: it has a colon, or a blank at an end")
    if server.transport == "stdio" and not server.command:
        raise Mistake(("transport",), "A server on stdio needs a command")
    if server.transport != "stdio" and not server.url:
        raise Mistake(("transport",), f"A server on {server.transport} needs a url")
    if server.sandbox is not None:
        if server.transport != "stdio":
            raise Mistake(("sandbox",), "Only a server that is started here, on stdio, can have a sandbox")
        for key, folders in (("read", server.sandbox.read), ("write", server.sandbox.write)):
            for index, folder in enumerate(folders):
                if not folder.startswith(("/", "${")):
                    raise Mistake(("sandbox", key, index), f"'{folder}' is no absolute folder")


def _converted(entry: Any, kind: type[Kind]) -> Kind:
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        raise _mistake(str(error)) from None


def _mistake(told: str) -> Mistake:
    reason, _, place = told.partition(" - at `$")
    path: list[str | int] = []
    for name, index in _STEP.findall(place.rstrip("`")):
        # A key of somebody's table is not told: the place is the table then.
        if index == "...":
            break
        path.append(name or int(index))
    unknown = _UNKNOWN.search(reason)
    if unknown is not None:
        return Mistake((*path, unknown[1]), reason, unknown=unknown[1])
    return Mistake(tuple(path), f"{reason} for {'.'.join(map(str, path))}" if path else reason)
