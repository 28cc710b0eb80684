"""Answers of the HTTP server that are not streams."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from kumihimo.wire.errors import InvalidRequest
from kumihimo.wire.jsonrpc import encode_failure

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
HeaderList = tuple[tuple[bytes, bytes], ...]


async def respond_json(send: Send, status: int, body: bytes, headers: HeaderList = ()) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(body)),
                *headers,
            ],
        }
    )
    await send({"type": "http.response.body", "body": body})


async def respond(send: Send, status: int) -> None:
    """An answer without a body."""
    # 204 has no length by definition; the others say that it is none.
    headers = [] if status == 204 else [(b"content-length", b"0")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def refuse(send: Send, status: int, reason: str, headers: HeaderList = ()) -> None:
    """An answer to a request that is not served, as a JSON-RPC error without an id."""
    await respond_json(send, status, encode_failure(None, InvalidRequest(reason)), headers)
