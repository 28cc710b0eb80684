"""Where the server is: for the Runner's own calls, and for the instances that it starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from kumihimo.domain.errors import ConfigError
from kumihimo.settings import WORKER_PATH
from kumihimo.wire.client.targets import Target, Url

_RUNNER = "/mcp/runner"


class Where(Struct, frozen=True):
    server: Target
    worker_url: str


# Asked before each new session: a server of this machine may have moved.
Locate = Callable[[], Awaitable[Where]]


def at_url(url: str, token: str | None) -> Where:
    """A server by its URL: `http://host:9696`, or the whole way to its endpoint. ConfigError where it is none.

    An endpoint that is not one of ours serves everything, as S1's server does.
    """
    try:
        parts = urlsplit(url.strip())
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        known = False
        parts = urlsplit("")
    if not known or parts.username or parts.password:
        raise ConfigError("--server", "bad_value", reason=f"{url!r} is not a URL like http://127.0.0.1:9696")
    path = parts.path.rstrip("/")
    if path in ("", _RUNNER):
        asked, worked = _RUNNER, WORKER_PATH
    else:
        asked = worked = path
    place = (parts.scheme, parts.netloc)
    return Where(
        Url(url=urlunsplit((*place, asked, parts.query, "")), bearer=token),
        urlunsplit((*place, worked, parts.query, "")),
    )


def endpoint(worker_url: str, path: str | None) -> str:
    """The endpoint of one instance: the ordinary one, or, on a server of ours, that which it was told."""
    parts = urlsplit(worker_url)
    if path is None or not path.startswith("/mcp/") or parts.path != WORKER_PATH:
        return worker_url
    told = urlsplit(path)
    query = "&".join(part for part in (parts.query, told.query) if part)
    return urlunsplit((parts.scheme, parts.netloc, told.path, query, ""))
