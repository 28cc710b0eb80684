"""Where a server is: a command to start, or a URL."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from kumihimo.wire.client.authorization.authorization import Authorization

# A message that is longer is not an answer that anybody could use.
MOST_BYTES = 64 * 1024 * 1024
CONNECT_SECONDS = 10.0


class Command(Struct, frozen=True, kw_only=True):
    """A server on stdio. It gets a session and a process group of its own, which end with ours.

    `environment` is all that it gets; None is ours. `errors` is what becomes of its stderr: the end of it is kept and told
    when the server dies, or it goes where ours goes, or nowhere.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] | None = None
    folder: Path | None = None
    errors: Literal["keep", "inherit", "drop"] = "keep"
    most_bytes: int = MOST_BYTES
    # How long it may take to end by itself, and again after TERM.
    grace_seconds: float = 2.0


class Url(Struct, frozen=True, kw_only=True):
    """A server on the network.

    `carrier` is how it is spoken to: by Streamable HTTP, or as servers of the first revision are, by a stream of events and
    POSTs beside it; one that refuses the former is tried by the latter. A `ws://` or `wss://` URL is always a WebSocket.
    """

    url: str
    carrier: Literal["streamable", "sse", "websocket"] = "streamable"
    headers: Mapping[str, str] = {}
    bearer: str | None = None
    # Who has the tokens, for a server that wants a login. Instead of a bearer, not beside it.
    authorization: Authorization | None = None
    tls: ssl.SSLContext | None = None
    most_bytes: int = MOST_BYTES
    connect_seconds: float = CONNECT_SECONDS
    # Below the five seconds after which many servers close: a call must not be written into a connection that ends.
    idle_seconds: float = 4.0
    # How often a stream that was cut is taken up again where it stopped.
    resumptions: int = 5

    def __repr__(self) -> str:
        return f"Url({self.url!r})"


Target = Command | Url
