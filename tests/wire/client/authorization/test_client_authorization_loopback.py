"""The port that a browser comes back to: on this machine only, for the answer to our question only, and not for ever."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest

from kumihimo.wire.client.authorization.errors import AuthorizationFailed
from kumihimo.wire.client.authorization.fetching import Fetched, Fetcher
from kumihimo.wire.client.authorization.login import Login
from kumihimo.wire.client.authorization.loopback import Loopback, loopback
from tests.wire.client.authorization.auth_kit import world
from tests.wire.client.client_kit import run, until

PAGE = "https://a.example/authorize?state=right&x=y"


async def get(url: str) -> Fetched:
    return await Fetcher(url).get(url)


async def raw(browser: Loopback, data: bytes) -> bytes:
    port = urlsplit(browser.redirect_uri).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    with contextlib.suppress(ConnectionError):
        await writer.drain()
        answer = await reader.read()
    writer.close()
    return answer


@contextlib.asynccontextmanager
async def waiting(**options: float):
    shown: list[str] = []
    async with loopback(shown.append, **options) as browser:  # type: ignore[arg-type]
        came: asyncio.Task[Mapping[str, str]] = asyncio.ensure_future(browser.open_page(PAGE))
        await until(lambda: shown == [PAGE])
        try:
            yield browser, came
        finally:
            came.cancel()
            await asyncio.gather(came, return_exceptions=True)


def test_a_browser_that_comes_back_brings_what_it_was_given_and_can_be_closed() -> None:
    async def test() -> None:
        async with waiting() as (browser, came):
            answer = await get(f"{browser.redirect_uri}?code=a%20code&state=right&iss=https%3A%2F%2Fa.example")
            assert await came == {"code": "a code", "state": "right", "iss": "https://a.example"}
            assert answer.status == 200
            assert b"You can close this page" in answer.body
            # The page neither repeats what came nor keeps it.
            assert b"a code" not in answer.body
            assert answer.headers[b"cache-control"] == b"no-store"
            assert answer.headers[b"referrer-policy"] == b"no-referrer"
            port = urlsplit(browser.redirect_uri).port
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)

    run(test())


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /callback?code=evil&state=wrong HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /callback?code=evil HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /callback?code=evil&state= HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /callback?state=right&code=one&code=two HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /favicon.ico?state=right HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /callback?state=right&code=evil HTTP/1.1\r\n\r\n", b"404"),
        (b"\r\n\r\n", b"404"),
        (b"GET http://[ HTTP/1.1\r\n\r\n", b"404"),
        pytest.param(b"x" * 100_000, b"", id="far too long"),
    ],
)
def test_anything_else_is_refused_and_the_right_answer_still_waited_for(sent: bytes, status: bytes) -> None:
    async def test() -> None:
        async with waiting() as (browser, came):
            answer = await raw(browser, sent)
            assert answer.startswith(b"HTTP/1.1 " + status if status else b"")
            assert not came.done()
            await get(f"{browser.redirect_uri}?code=good&state=right")
            assert (await came)["code"] == "good"

    run(test())


def test_a_refusal_comes_back_as_one() -> None:
    async def test() -> None:
        async with waiting() as (browser, came):
            answer = await get(f"{browser.redirect_uri}?error=%3Cscript%3E&state=right")
            assert (await came)["error"] == "<script>"
            assert b"refused" in answer.body
            assert b"script" not in answer.body

    run(test())


def test_nobody_is_waited_for_for_ever() -> None:
    async def test() -> None:
        async with waiting(seconds=0.1) as (_, came):
            with pytest.raises(AuthorizationFailed, match="nobody has come back"):
                await came

    run(test())


def test_nothing_is_taken_before_a_page_was_shown() -> None:
    async def test() -> None:
        async with loopback(lambda _: None) as browser:
            assert (await get(f"{browser.redirect_uri}?code=early&state=")).status == 400
            assert (await get(f"{browser.redirect_uri}?code=early")).status == 400

    run(test())


def test_it_is_on_this_machine_only_at_the_port_that_was_wanted() -> None:
    async def test() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            taken.listen()
            with pytest.raises(AuthorizationFailed, match=str(port)):
                async with loopback(lambda _: None, port=port):
                    pass
        async with loopback(lambda _: None, port=port) as browser:
            assert browser.redirect_uri == f"http://127.0.0.1:{port}/callback"

    run(test())


def test_who_connects_and_says_nothing_does_not_keep_it_open() -> None:
    async def test() -> None:
        async with asyncio.timeout(5), loopback(lambda _: None) as browser:
            port = urlsplit(browser.redirect_uri).port
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /callb")
            await writer.drain()
            await until(lambda: browser._visits)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()

    run(test())


def test_a_whole_login_by_a_browser_on_this_machine() -> None:
    async def test() -> None:
        async with world() as w:
            opened: list[asyncio.Task[Fetched]] = []

            def show(url: str) -> None:
                opened.append(asyncio.ensure_future(follow(url)))

            async def follow(url: str) -> Fetched:
                return await get((await get(url)).headers[b"location"].decode())

            grant = await w.oauth(Login(lambda: loopback(show))).login()
            assert grant.access_token in w.giver.valid
            assert b"You can close this page" in (await opened[0]).body

    run(test())
