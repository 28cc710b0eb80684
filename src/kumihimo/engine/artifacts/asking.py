"""One HTTP request, bounded in time and size. Redirects are not followed: what is sent along is for this address alone."""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Mapping
from typing import BinaryIO
from urllib.parse import urlsplit

from msgspec import Struct

from kumihimo.engine.artifacts.artifact import ArtifactTrouble

CONNECT_SECONDS = 3.0
READ_SECONDS = 10.0
# All of an answer, however slowly it comes.
WHOLE_SECONDS = 60.0
_CHUNK = 1 << 18


class Answer(Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes


def ask(
    method: str,
    url: str,
    headers: Mapping[str, str],
    *,
    most: int,
    body: BinaryIO | None = None,
    path: str | None = None,
) -> Answer:
    """`path` is the target as it is to be sent. ArtifactTrouble where there is no answer, or a larger one."""
    parts = urlsplit(url)
    connection = _connection(parts.scheme, parts.hostname or "", parts.port)
    try:
        connection.connect()
        assert connection.sock is not None, "it is connected"
        connection.sock.settimeout(READ_SECONDS)
        connection.request(method, path or f"{parts.path}?{parts.query}".rstrip("?"), body, dict(headers))
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, _read(answer, most))
    except (OSError, http.client.HTTPException) as error:
        raise ArtifactTrouble(_said(error)) from error
    finally:
        connection.close()


def _connection(scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)


def _read(answer: http.client.HTTPResponse, most: int) -> bytes:
    found = bytearray()
    deadline = time.monotonic() + WHOLE_SECONDS
    while chunk := answer.read1(_CHUNK):
        found += chunk
        if len(found) > most:
            raise ArtifactTrouble(f"the answer has more than {most} bytes")
        if time.monotonic() > deadline:
            raise ArtifactTrouble(f"the answer did not come within {WHOLE_SECONDS:.0f} seconds")
    if answer.length:
        raise ArtifactTrouble("the answer was cut off")
    return bytes(found)


def _said(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "nobody answered in time"
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
