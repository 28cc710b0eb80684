"""What is refused: asked for once more, with more, or of somebody else; and by one for all who wait."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from kumihimo.wire.client.authorization.challenge import challenge_of
from kumihimo.wire.client.authorization.errors import LoginNeeded, TokenRefused
from kumihimo.wire.client.authorization.fetching import Fetcher
from kumihimo.wire.client.errors import ConnectionFailed
from tests.wire.client.authorization.auth_kit import PRM, refused, world
from tests.wire.client.authorization.auth_site import Answer, json_answer
from tests.wire.client.client_kit import run


def test_what_went_wrong_for_one_is_told_to_all_who_have_waited_for_it() -> None:
    async def test() -> None:
        async def slow(_: Any) -> Answer:
            await asyncio.sleep(60)
            return Answer()

        async with world() as w:
            await w.oauth().login()
            answering, w.giver.site.routes["/token"] = w.giver.site.routes["/token"], slow
            w.giver.site.asked.clear()
            oauth = w.oauth(fetcher=Fetcher(w.url, seconds=0.2))
            token = await oauth.token(w.url)
            async with asyncio.timeout(2):
                told = await asyncio.gather(*(refused(oauth, w.url, token) for _ in range(32)), return_exceptions=True)
            assert {type(one) for one in told} == {ConnectionFailed}
            assert len(w.giver.site.at("/token")) == 1
            # Whoever comes later tries again.
            w.giver.site.routes["/token"] = answering
            assert await refused(oauth, w.url, token)

    run(test())


def test_a_person_who_says_no_is_not_asked_again_for_every_call_that_has_waited() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.back = {"error": "access_denied"}
            oauth = w.oauth()
            told = await asyncio.gather(*(refused(oauth, w.url, None) for _ in range(8)), return_exceptions=True)
            assert {type(one) for one in told} == {TokenRefused}
            assert len(w.person.pages) == 1

    run(test())


def test_a_token_that_is_always_refused_is_got_once_by_each_means_and_then_no_more() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            oauth = w.oauth()
            answers = [await refused(oauth, w.url, await oauth.token(w.url), attempt=n) for n in range(5)]
            assert answers == [True, True, False, False, False]
            assert (w.giver.refreshes, len(w.person.pages)) == (1, 2)

    run(test())


def test_more_is_asked_for_together_with_what_was_had_before() -> None:
    async def test() -> None:
        async with world() as w:
            w.server.challenge += ', scope="read"'
            w.giver.said["scopes_supported"] = ["offline_access"]
            oauth = w.oauth()
            await oauth.login()
            more = {b"www-authenticate": b'Bearer error="insufficient_scope", scope="write"'}
            assert await oauth.challenged(w.url, 403, more, await oauth.token(w.url), 0)
            assert w.person.pages[1]["scope"] == "read offline_access write"
            token = await oauth.token(w.url)
            assert token is not None
            assert w.giver.valid[token] == {"read", "write", "offline_access"}
            # What was asked for already is not asked for again, whatever came with it.
            assert not await oauth.challenged(w.url, 403, more, token, 1)
            assert len(w.person.pages) == 2

    run(test())


@pytest.mark.parametrize(
    "header",
    [
        b"", b"Bearer", b'Bearer error="insufficient_scope"', b'Bearer error="invalid_token", scope="more"',
        b'Basic error="insufficient_scope", scope="more"',
    ],
)  # fmt: skip
def test_a_403_that_does_not_say_what_is_missing_stays_one(header: bytes) -> None:
    async def test() -> None:
        async with world() as w:
            oauth = w.oauth()
            await oauth.login()
            assert not await oauth.challenged(w.url, 403, {b"www-authenticate": header}, await oauth.token(w.url), 0)
            assert len(w.person.pages) == 1

    run(test())


def test_what_is_missing_with_nobody_there_is_noted_for_the_next_login() -> None:
    async def test() -> None:
        async with world() as w:
            w.server.challenge += ', scope="read"'
            await w.oauth().login()
            oauth = w.alone()
            more = {b"www-authenticate": b'Bearer error="insufficient_scope", scope="write"'}
            with pytest.raises(LoginNeeded, match="write") as needed:
                await oauth.challenged(w.url, 403, more, await oauth.token(w.url), 0)
            assert (needed.value.status, needed.value.scopes) == (403, ("write",))
            await w.oauth().login()
            assert w.person.pages[1]["scope"] == "read write"
            assert await oauth.challenged(w.url, 403, more, "access-2", 0)

    run(test())


def test_what_is_missing_for_one_call_does_not_keep_another_from_renewing() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            oauth = w.alone()
            token = await oauth.token(w.url)
            more = {b"www-authenticate": b'Bearer error="insufficient_scope", scope="write"'}
            async with w.store.locked(w.url):
                both = (oauth.challenged(w.url, 403, more, token, 0), refused(oauth, w.url, token))
                waiting = [asyncio.ensure_future(one) for one in both]
                # Until the first waits for the store, and the second for the first.
                await asyncio.sleep(0.01)
            told = await asyncio.gather(*waiting, return_exceptions=True)
            assert isinstance(told[0], LoginNeeded)
            assert told[1] is True

    run(test())


def test_when_the_server_trusts_another_nothing_of_the_old_one_is_shown_to_it() -> None:
    async def test() -> None:
        async with world() as w, world() as other:
            w.giver.registered = {"client_id": "old-client"}
            w.server.challenge += ', scope="read"'
            oauth = w.oauth()
            grant = await oauth.login()
            assert grant.refresh_token is not None
            w.server.giver = other.giver
            w.server.challenge = 'Bearer resource_metadata="{url}' + PRM + '"'
            assert await refused(oauth, w.url, grant.access_token)
            told = w.everything_told(other.giver.site)
            for secret in ("old-client", grant.access_token, grant.refresh_token, "read"):
                assert secret not in told
            # Nor was the old one asked to renew what is not taken any more.
            assert w.giver.refreshes == 0
            assert await oauth.token(w.url) in other.giver.valid

    run(test())


def test_a_server_that_wants_something_else_than_a_token_keeps_its_word() -> None:
    async def test() -> None:
        async with world() as w:
            oauth = w.oauth()
            assert not await oauth.challenged(w.url, 401, {b"www-authenticate": b'Basic realm="x"'}, None, 0)
            assert w.server.site.asked == []
            w.server.site.routes["/mcp"] = lambda _: json_answer({}, 401, WWW_Authenticate='Basic realm="x"')
            assert w.person.pages == []

    run(test())


@pytest.mark.parametrize("filling", [b" ", b",", b", ", b"a ", b'a="', b"a= "])
def test_a_challenge_of_hardly_anything_is_read_at_once(filling: bytes) -> None:
    began = time.process_time()
    for _ in range(20):
        assert challenge_of({b"www-authenticate": b"Bearer " + filling * 8192}).token
    assert time.process_time() - began < 3
