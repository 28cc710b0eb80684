"""Tokens over time: renewed before they end, by one of many, and asked for again when they are refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kumihimo.wire.client.authorization.client import Client
from kumihimo.wire.client.authorization.errors import AuthorizationFailed, LoginNeeded
from kumihimo.wire.client.authorization.file_store import FileStore
from kumihimo.wire.client.errors import ConnectionFailed
from tests.wire.client.authorization.auth_kit import METADATA, refused, world
from tests.wire.client.authorization.auth_site import Answer
from tests.wire.client.client_kit import run


def test_a_token_is_renewed_before_it_ends_and_not_earlier() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            oauth = w.alone()
            first = await oauth.token(w.url)
            w.clock.now += 3600 - 61
            assert await oauth.token(w.url) == first
            assert w.giver.refreshes == 0
            w.clock.now += 2
            second = await oauth.token(w.url)
            assert second != first
            assert second in w.giver.valid
            assert w.giver.refreshes == 1
            (asked,) = w.giver.site.at("/token")[1:]
            assert asked.form["resource"] == w.url
            # The refresh token was good once; the next one was kept.
            w.clock.now += 3600
            assert await w.alone().token(w.url) not in (first, second)

    run(test())


def test_a_short_life_is_not_spent_on_renewing() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.expires_in = 20
            await w.oauth().login()
            oauth = w.alone()
            for _ in range(18):
                w.clock.now += 1
                await oauth.token(w.url)
            assert w.giver.refreshes == 1

    run(test())


@pytest.mark.parametrize("said", [None, "soon", -5, "3600"])
def test_a_life_that_was_not_told_in_numbers_is_no_reason_to_renew(said: Any) -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.expires_in = said
            await w.oauth().login()
            oauth = w.alone()
            assert await oauth.token(w.url) in w.giver.valid
            assert w.giver.refreshes == 0

    run(test())


@pytest.mark.parametrize("how", ["ended", "refused"])
def test_of_many_at_once_one_renews(how: str) -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            oauth = w.alone()
            first = await oauth.token(w.url)
            if how == "ended":
                w.clock.now += 3600
                tokens = set(await asyncio.gather(*(oauth.token(w.url) for _ in range(32))))
            else:
                assert all(await asyncio.gather(*(refused(oauth, w.url, first) for _ in range(32))))
                tokens = {await oauth.token(w.url)}
            assert len(tokens) == 1
            assert first not in tokens
            assert w.giver.refreshes == 1

    run(test())


def test_two_sessions_that_renew_at_once_do_it_once_and_both_have_the_newest(tmp_path: Path) -> None:
    async def test() -> None:
        async with world() as w:
            w.store = FileStore(tmp_path)
            await w.oauth().login()
            for _ in range(5):
                before = w.giver.refreshes
                one, other = w.alone(), w.alone()
                tokens = [await one.token(w.url), await other.token(w.url)]
                assert (
                    await asyncio.gather(refused(one, w.url, tokens[0]), refused(other, w.url, tokens[1])) == [True] * 2
                )
                assert await one.token(w.url) == await other.token(w.url) != tokens[0]
                assert w.giver.refreshes == before + 1

    run(test())


def test_a_refresh_token_that_is_not_replaced_is_kept() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.rotates = False
            await w.oauth().login()
            for _ in range(3):
                w.clock.now += 3600
                assert await w.alone().token(w.url) in w.giver.valid
            assert w.giver.refreshes == 3

    run(test())


def test_whoever_stops_waiting_does_not_lose_the_new_refresh_token() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            answering, asked = w.giver.site.routes["/token"], asyncio.Event()
            go = asyncio.Event()

            async def slow(one: Any) -> Answer:
                asked.set()
                await go.wait()
                return answering(one)  # type: ignore[return-value]

            w.giver.site.routes["/token"] = slow
            oauth = w.alone()
            waiting = asyncio.ensure_future(refused(oauth, w.url, await oauth.token(w.url)))
            await asked.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            go.set()
            renewed = oauth._renewing
            assert renewed is not None
            await renewed
            w.clock.now += 3600
            assert await w.alone().token(w.url) in w.giver.valid

    run(test())


def test_nobody_there_and_nothing_kept_is_a_login_that_is_needed_without_asking_anybody() -> None:
    async def test() -> None:
        async with world() as w:
            oauth = w.alone()
            assert await oauth.token(w.url) is None
            with pytest.raises(LoginNeeded) as needed:
                await refused(oauth, w.url, None)
            assert (needed.value.status, needed.value.delivered) == (401, False)
            assert w.server.site.asked == w.giver.site.asked == []
            # Somebody logs in elsewhere: the next request finds it.
            await w.oauth().login()
            assert await refused(oauth, w.url, None)
            assert await oauth.token(w.url) in w.giver.valid

    run(test())


def test_a_refresh_token_that_is_no_good_any_more_is_not_tried_twice() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            w.giver._refresh.clear()
            for _ in range(3):
                oauth = w.alone()
                with pytest.raises(LoginNeeded):
                    await refused(oauth, w.url, await oauth.token(w.url))
            assert w.giver.refreshes == 1
            # With a person there it is a login instead.
            oauth = w.oauth()
            assert await refused(oauth, w.url, await oauth.token(w.url))
            assert len(w.person.pages) == 2

    run(test())


@pytest.mark.parametrize("how", ["failing", "gone"])
def test_an_authorization_server_that_is_down_is_no_reason_for_a_login(how: str) -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            grant = w.store.load(w.url)
            assert grant is not None
            if how == "failing":
                w.giver.site.routes["/token"] = lambda _: Answer(503, b"busy")
            else:
                from msgspec.structs import replace

                w.store.save(w.url, replace(grant, token_endpoint="http://127.0.0.1:9/token"))
            oauth = w.alone()
            w.clock.now += 3590
            # As long as the token is good, it is used.
            assert await oauth.token(w.url) == grant.access_token
            w.clock.now += 20
            with pytest.raises(ConnectionFailed):
                await oauth.token(w.url)
            kept = w.store.load(w.url)
            assert kept is not None
            assert kept.refresh_token == grant.refresh_token

    run(test())


def test_whoever_is_logged_out_stays_so() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            oauth = w.alone()
            token = await oauth.token(w.url)
            w.store.forget(w.url)
            with pytest.raises(LoginNeeded):
                await refused(oauth, w.url, token)
            assert (w.store.load(w.url), await oauth.token(w.url), w.giver.refreshes) == (None, None, 0)

    run(test())


def test_a_token_is_for_one_origin() -> None:
    async def test() -> None:
        async with world() as w, world() as other:
            oauth = w.oauth()
            await oauth.login()
            for url in (
                other.url,
                w.url.replace("127.0.0.1", "localhost"),
                "https://127.0.0.1/mcp",
                "https://a.example",
            ):
                with pytest.raises(AuthorizationFailed, match="is not for"):
                    await oauth.token(url)
                with pytest.raises(AuthorizationFailed, match="is not for"):
                    await refused(oauth, url, None)
            assert other.server.site.asked == []

    run(test())


def test_only_the_server_ever_sees_a_token_and_only_the_giver_what_renews_it() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.site.routes["/token"], token = lambda asked: token(asked), w.giver.site.routes["/token"]
            grant = await w.oauth().login()
            oauth = w.alone()
            assert await refused(oauth, w.url, await oauth.token(w.url))
            seen_by_giver = w.everything_told(w.giver.site)
            seen_by_server = w.everything_told(w.server.site)
            assert grant.refresh_token is not None
            assert grant.access_token not in seen_by_giver
            assert grant.refresh_token in seen_by_giver
            assert grant.refresh_token not in seen_by_server
            assert METADATA not in seen_by_server

    run(test())


def test_what_another_client_has_left_is_not_used_by_ours() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth(client=Client(id="one")).login()
            assert await w.oauth(client=Client(id="one")).token(w.url) is not None
            assert await w.oauth(client=Client(id="two")).token(w.url) is None

    run(test())


def test_a_secret_that_is_configured_is_not_written_down_and_a_new_one_counts() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.said["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
            await w.oauth(client=Client(id="ours", secret="old")).login()
            kept = w.store.load(w.url)
            assert kept is not None
            assert kept.client.secret is None
            w.clock.now += 3600
            await w.oauth(client=Client(id="ours", secret="new")).token(w.url)
            assert [one.form["client_secret"] for one in w.giver.site.at("/token")] == ["old", "new"]

    run(test())
