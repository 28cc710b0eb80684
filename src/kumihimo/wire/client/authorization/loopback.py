"""Where a browser on this machine comes back to after a login: a port on 127.0.0.1 that is open for one answer."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import AsyncGenerator, Callable, Mapping
from urllib.parse import parse_qsl, urlsplit

from kumihimo.wire.client.authorization.errors import AuthorizationFailed

SECONDS = 300.0
_READ_SECONDS = 10.0
_MOST_BYTES = 16 * 1024
_PATH = "/callback"
_HEAD = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n"
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'\r\n\r\n"
)
_PAGE = "<!doctype html><html lang=en><title>Kumihimo</title><p>{text}</p></html>"


class Loopback:
    """Made by `loopback`. What is not the answer that is waited for is refused, and waited on: any page could send it."""

    def __init__(self, show: Callable[[str], None], seconds: float) -> None:
        self.redirect_uri = ""
        self._show = show
        self._seconds = seconds
        self._state: bytes | None = None
        self._came: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()
        self._visits: dict[asyncio.Task[None] | None, asyncio.StreamWriter] = {}

    async def open_page(self, url: str) -> Mapping[str, str]:
        """Show the URL to the person and wait until their browser comes back, for as long as the state in it is theirs."""
        self._state = dict(parse_qsl(urlsplit(url).query)).get("state", "").encode()
        self._show(url)
        try:
            async with asyncio.timeout(self._seconds):
                return await self._came
        except TimeoutError:
            raise AuthorizationFailed(f"nobody has come back from the login within {self._seconds:g} s") from None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = asyncio.current_task()
        self._visits[visit] = writer
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_READ_SECONDS):
                    line = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n", 1)[0]
                status, text, came = self._look(line.decode("latin-1"))
                page = _PAGE.format(text=text).encode()
                writer.write(_HEAD.format(status=status, length=len(page)).encode() + page)
                await writer.drain()
                if came is not None and not self._came.done():
                    self._came.set_result(came)
        finally:
            del self._visits[visit]
            writer.close()

    async def close(self) -> None:
        """Whoever is still being read ends at once; what was answered is on its way."""
        for writer in self._visits.values():
            writer.close()
        while self._visits:  # noqa: ASYNC110 - a moment: each ends by itself once its connection has
            await asyncio.sleep(0)

    def _look(self, line: str) -> tuple[str, str, Mapping[str, str] | None]:
        """What to answer, and what came where it is what is waited for. Nothing of it is shown."""
        method, _, rest = line.partition(" ")
        path, _, query = rest.partition(" ")[0].partition("?")
        if method != "GET" or path != _PATH:
            return "404 Not Found", "There is nothing here.", None
        pairs = parse_qsl(query)
        came = dict(pairs)
        expected = self._state
        if not expected or not hmac.compare_digest(came.get("state", "").encode(), expected) or len(came) != len(pairs):
            return "400 Bad Request", "This is not the answer to a login that was begun here.", None
        if "error" in came:
            return "200 OK", "The login was refused. You can close this page.", came
        return "200 OK", "The login is done. You can close this page.", came


@contextlib.asynccontextmanager
async def loopback(show: Callable[[str], None], *, port: int = 0, seconds: float = SECONDS) -> AsyncGenerator[Loopback]:
    """`show` gets the URL for the person to open. A port of 0 is any that is free."""
    receiver = Loopback(show, seconds)
    try:
        server = await asyncio.start_server(receiver.serve, "127.0.0.1", port, limit=_MOST_BYTES)
    except OSError as error:
        raise AuthorizationFailed(
            f"port {port} of this machine can't be used for the login: {error.strerror}"
        ) from None
    receiver.redirect_uri = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{_PATH}"
    try:
        yield receiver
    finally:
        server.close()
        await receiver.close()
        await server.wait_closed()
