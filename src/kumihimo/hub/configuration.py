"""What a hub is configured with: its servers, and its options with their defaults."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from msgspec import Meta, Struct

from kumihimo.hub.errors import Code
from kumihimo.hub.serena_project import settled

Milliseconds = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=1)]
Transport = Literal["stdio", "http", "sse", "websocket"]
Kind = TypeVar("Kind")
# ` - at `key` in `$.env`` is about a key of the table, any other place about what stands there.
_PLACE = re.compile(r" - at (?:`key` in )?`\$")
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


class Auth(Struct, frozen=True, forbid_unknown_fields=True):
    """How to log in at a server on the network. Where nothing is said, we register ourselves and a person logs in."""

    grant: Literal["login", "client_credentials"] = "login"
    client_id: str | None = None
    client_secret: str | None = None
    # A file with the key that stands for a secret, in PEM.
    private_key_file: str | None = None
    algorithm: Literal["ES256", "RS256"] = "ES256"
    # The authorization server that the client is registered at.
    issuer: str | None = None
    # Where a document about us is, for those who take its address for a client's name.
    client_metadata_url: str | None = None
    scopes: tuple[str, ...] = ()
    # Where the browser comes back to; 0 is any port that is free.
    redirect_port: Annotated[int, Meta(ge=0, le=65535)] = 0

    def __repr__(self) -> str:
        return f"Auth({self.grant!r}, {self.client_id!r})"


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
    auth: Auth | None = None
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


# A variable may stand for all of it.
_WEB, _SOCKET = ("http://", "https://", "${"), ("ws://", "wss://", "${")
_ADDRESSES: dict[str, tuple[str, ...]] = {
    "stdio": (*_WEB, *_SOCKET),
    "http": _WEB,
    "sse": _WEB,
    "websocket": _SOCKET,
}


def keys_of(path: tuple[str | int, ...]) -> tuple[str, ...]:
    """What may stand at this place of a server or of the options, seen from there."""
    table = {"retryPolicy": RetryPolicy, "sandbox": Sandbox, "auth": Auth}.get(str(path[0])) if path else None
    return tuple(field.encode_name for field in msgspec.structs.fields(table)) if table is not None else ()


@cache
def _known_keys() -> frozenset[str]:
    """Looked for once: it takes longer than to read a server."""
    return frozenset(field.encode_name for field in msgspec.structs.fields(ServerConfig))


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
    known = _known_keys()
    if "perWorktree" in given:
        given["per_worktree"] = given.pop("perWorktree")
    given["transport"] = transport_of(given, () if foreign else known)
    given.pop("type", None)
    given = settled(given)
    if foreign:
        # What other clients call `auth` has other shapes: what we would have in it can't be said there.
        given = {key: value for key, value in given.items() if key in known and key != "auth"}
    given.setdefault("timeout", options.timeout)
    given.setdefault("debug", options.debug)
    # A policy of its own may say less than all: the rest is that of the options.
    policy = given.get("retryPolicy", {})
    if isinstance(policy, Mapping):
        given["retryPolicy"] = {**msgspec.to_builtins(options.retry_policy), **policy}
    for key in ("env", "headers"):
        _check_texts(key, given.get(key))
    server = _converted(given, ServerConfig)
    _check(server)
    if not foreign:
        _check_reach(server)
    try:
        msgspec.json.encode(server)
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise Mistake((), f"{half} is half of a sign: it can't be told to anybody") from None
    return server


def _check_texts(table: str, members: Any) -> None:
    """Looked at here, since what converts them tells of the table and neither the key nor what is to be done."""
    if not isinstance(members, Mapping):
        return
    for key, value in cast("Mapping[Any, Any]", members).items():
        if not isinstance(key, str):
            raise Mistake((table, str(key)), f"The key '{key}' in {table} is {_kind(key)}: put it between quotes")
        if isinstance(value, str):
            continue
        mend = "put texts there" if isinstance(value, list | dict) else "put it between quotes"
        if value is None:
            mend = 'write "" for an empty text'
        raise Mistake((table, key), f"'{key}' in {table} is {_kind(value)}: {mend}")


def _kind(value: Any) -> str:
    kinds = (
        (bool, "a boolean"),
        (int | float, "a number"),
        (list, "a list"),
        (dict, "a table"),
        (type(None), "nothing"),
    )
    return next((told for kind, told in kinds if isinstance(value, kind)), f"a {type(value).__name__}")


def transport_of(given: Mapping[str, Any], known: Collection[str] = ()) -> Transport:
    """As it is said, or else as it follows from what is. Mistake where it does not."""
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
    unknown = next((key for key in given if known and key not in known), None)
    if unknown is not None:
        # Most likely what is missing, misspelt.
        raise Mistake((unknown,), f"unknown field {unknown}", unknown=unknown)
    raise Mistake((), "A server has a command, or a url")


def _check_reach(server: ServerConfig) -> None:
    """In our own form nothing stands for other clients: what would not count was meant to."""
    if server.command and server.url:
        raise Mistake(("url",), "A server has a command or a url, not both")
    local = server.transport == "stdio"
    for key in ("headers",) if local else ("args", "env", "cwd"):
        # Neither counts what is empty.
        if getattr(server, key):
            owner, other = ("a url", "on stdio") if local else ("a command", f"on {server.transport}")
            raise Mistake((key,), f"Only a server with {owner} has {key}: this one is {other}")


def _check(server: ServerConfig) -> None:
    if ":" in server.name or server.name != server.name.strip():
        raise Mistake(("name",), f"'{server.name}' can't be the name of a server: it has a colon, or a blank at an end")
    if server.transport == "stdio" and not server.command:
        raise Mistake(("transport",), "A server on stdio needs a command")
    if server.transport != "stdio" and not server.url:
        raise Mistake(("transport",), f"A server on {server.transport} needs a url")
    if server.url and not server.url.startswith(_ADDRESSES[server.transport]):
        begins = " or ".join(sign for sign in _ADDRESSES[server.transport] if sign.endswith("//"))
        raise Mistake(("url",), f"'{server.url[:80]}' is no address on {server.transport}: it begins with {begins}")
    _check_tools(server)
    if server.auth is not None:
        _check_auth(server, server.auth)
    if server.sandbox is not None:
        if server.transport != "stdio":
            raise Mistake(("sandbox",), "Only a server that is started here, on stdio, can have a sandbox")
        for key, folders in (("read", server.sandbox.read), ("write", server.sandbox.write)):
            for index, folder in enumerate(folders):
                if not folder.startswith(("/", "${")):
                    raise Mistake(("sandbox", key, index), f"'{folder}' is no absolute folder")


def _check_tools(server: ServerConfig) -> None:
    """What names no tool in the way that it is looked for would deny nothing, without a word."""
    for key, names in (("allow", server.allow or ()), ("deny", server.deny)):
        for index, name in enumerate(names):
            bare = name.removeprefix(f"{server.name}:")
            if "*" in name:
                raise Mistake((key, index), f"'{name}' in {key} is no tool: name each tool, as '*' stands for none")
            if bare != name:
                raise Mistake((key, index), f"'{name}' in {key} is the tool '{bare}' of this server: write '{bare}'")


def _check_auth(server: ServerConfig, auth: Auth) -> None:
    if server.transport not in ("http", "sse"):
        raise Mistake(("auth",), "Only a server on http or sse can have a login")
    if auth.grant == "client_credentials" and not (auth.client_id and (auth.client_secret or auth.private_key_file)):
        raise Mistake(
            ("auth",), "A login without a person needs a client_id, and a client_secret or a private_key_file"
        )
    if (auth.client_secret or auth.private_key_file) and not auth.client_id:
        raise Mistake(("auth", "client_id"), "What a secret belongs to is missing: a client_id")


def _converted(entry: Any, kind: type[Kind]) -> Kind:
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        raise _mistake(str(error)) from None


def _mistake(told: str) -> Mistake:
    reason, place, *_ = [*_PLACE.split(told, 1), ""]
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
