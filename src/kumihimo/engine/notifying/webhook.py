"""A webhook: the notice as JSON in a POST, signed so that the receiver knows who sends it.

The signature is `sha256=` and the HMAC of the timestamp, a dot and the body. A redirection is not followed: it could lead
what is told to somebody else. Of the address only the host is ever named, for the rest of it may be a secret.
"""

from __future__ import annotations

import hmac
import http.client
import threading
import time
from collections.abc import Callable
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from kumihimo import __version__
from kumihimo.domain.notice import Notice
from kumihimo.domain.notice_channel import NoticeKind
from kumihimo.engine.notifying.channel import Undelivered

# Answers after which a later try may do better.
_PASSING = (408, 425, 429)
# What an address may hold besides letters and digits.
_AS_THEY_ARE = "/?%:@!$&'()*+,;=~-._[]"


class WebhookChannel:
    name = "webhook"

    def __init__(
        self,
        url: str,
        secret: str | None,
        kinds: tuple[NoticeKind, ...],
        seconds: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """ValueError for an address that is none; it is not repeated."""
        parts, self._port = _parts(url)
        self.kinds = kinds
        self.place = parts.hostname or ""
        self._secure = parts.scheme == "https"
        self._path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_AS_THEY_ARE)
        self._login = _login(parts.username, parts.password)
        self._secret = secret
        self._seconds = seconds
        self._clock = clock

    def tell(self, notice: Notice) -> None:
        body = msgspec.json.encode(notice)
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self.place, self._port, timeout=self._seconds)
        try:
            status = self._post(connection, body, self._headers(notice, body))
        except (OSError, http.client.HTTPException) as error:
            # The class alone: some texts repeat what was sent.
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise Undelivered(f"{self.place} can't be reached: {reason}", again=True) from error
        finally:
            connection.close()
        if not 200 <= status < 300:
            raise Undelivered(f"{self.place} answered {status}", again=status >= 500 or status in _PASSING)

    def _post(self, connection: http.client.HTTPConnection, body: bytes, headers: dict[str, str]) -> int:
        connection.connect()
        # A time-out of a socket is one of silence: who answers a letter at a time would hold us for ever.
        end = threading.Timer(self._seconds, _cut, (connection,))
        end.daemon = True
        end.start()
        try:
            connection.request("POST", self._path, body, headers)
            return connection.getresponse().status
        finally:
            end.cancel()

    def _headers(self, notice: Notice, body: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"kumihimo/{__version__}",
            "X-Kumihimo-Id": notice.id,
            **self._login,
        }
        if self._secret is not None:
            timestamp = str(int(self._clock()))
            headers |= {"X-Kumihimo-Timestamp": timestamp, "X-Kumihimo-Signature": sign(self._secret, timestamp, body)}
        return headers


def _parts(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("it is no http:// or https:// address")
    return parts, port


def sign(secret: str, timestamp: str, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, "sha256").hexdigest()


def _cut(connection: http.client.HTTPConnection) -> None:
    import contextlib
    import socket

    if connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _login(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    import base64
    from urllib.parse import unquote

    told = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(told).decode()}"}
