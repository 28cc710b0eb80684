"""Sessions with a server that wants tokens: what is refused is sent again, once it can be, and never more than a few times."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from kumihimo.wire.client.authorization.errors import LoginNeeded
from kumihimo.wire.client.authorization.oauth import OAuth
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ConnectionLost, Refused, TimedOut
from kumihimo.wire.client.session import Session
from tests.wire.client.authorization.auth_kit import Person, World, world
from tests.wire.client.authorization.auth_site import Answer, Asked, json_answer
from tests.wire.client.client_kit import US, ours_on_http, run, until


@contextlib.asynccontextmanager
async def session_in(w: World, oauth: OAuth | None = None, **options: Any) -> AsyncIterator[Session]:
    async with await connect(w.target(oauth), US, **options) as session:
        yield session


def test_a_server_that_wants_a_login_gets_one_and_the_session_goes_on() -> None:
    async def test() -> None:
        async with world() as w, session_in(w) as session:
            assert (await session.call_tool("any")).text == "done"
            # The first thing that was asked was refused, and then nothing any more.
            assert (w.server.refusals, len(w.person.pages)) == (1, 1)
            assert [one.token for one in w.server.site.at("/mcp")][1:] == ["access-2"] * 4

    run(test())


def test_a_login_that_was_kept_is_used_from_the_first_word_on() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            w.server.refusals = 0
            async with session_in(w, w.alone()) as session:
                await session.call_tool("any")
            assert w.server.refusals == 0

    run(test())


def test_thirty_two_calls_that_are_refused_at_once_renew_once_and_are_each_carried_out_once() -> None:
    async def test() -> None:
        async with world() as w, session_in(w) as session:
            w.giver.revoke_all()
            answers = await asyncio.gather(*(session.call_tool("any") for _ in range(32)))
            assert {answer.text for answer in answers} == {"done"}
            assert (w.server.calls, w.giver.refreshes, len(w.person.pages)) == (32, 1, 1)

    run(test())


def test_more_permission_is_asked_for_when_a_call_needs_it() -> None:
    async def test() -> None:
        async with world() as w, session_in(w) as session:
            w.server.needs = {"write"}
            answers = await asyncio.gather(*(session.call_tool("any") for _ in range(8)))
            assert {answer.text for answer in answers} == {"done"}
            assert (w.server.calls, len(w.person.pages)) == (8, 2)

    run(test())


def test_a_server_that_always_refuses_is_given_up_after_a_few_times() -> None:
    async def test() -> None:
        async with world() as w, session_in(w) as session:
            w.server.giver.valid = _Never()  # type: ignore[assignment]
            w.server.refusals = 0
            with pytest.raises(Refused) as failed:
                await session.call_tool("any")
            assert (failed.value.status, failed.value.delivered, w.server.calls) == (401, False, 0)
            # Sent, sent with a renewed token, sent with one of a new login.
            assert (w.server.refusals, w.giver.refreshes, len(w.person.pages)) == (3, 1, 2)

    run(test())


class _Never(dict[str, set[str]]):
    def get(self, key: str, default: Any = None) -> Any:  # type: ignore[override]
        return None


def test_a_scope_that_is_never_enough_is_asked_for_once() -> None:
    async def test() -> None:
        async with world() as w, session_in(w) as session:
            w.server.site.routes["/mcp"] = lambda _: json_answer(
                {}, 403, WWW_Authenticate='Bearer error="insufficient_scope", scope="admin"'
            )
            for _ in range(3):
                with pytest.raises(Refused) as failed:
                    await session.call_tool("any")
                assert failed.value.status == 403
            assert len(w.person.pages) == 2

    run(test())


def test_with_nobody_there_the_call_fails_and_says_that_a_login_is_needed() -> None:
    async def test() -> None:
        async with world() as w:
            with pytest.raises(LoginNeeded) as needed:
                await connect(w.target(w.alone()), US)
            assert (needed.value.status, needed.value.delivered) == (401, False)
            await w.oauth().login()
            async with session_in(w, w.alone()) as session:
                await session.call_tool("any")
                w.giver.revoke_all()
                w.giver._refresh.clear()
                with pytest.raises(LoginNeeded):
                    await session.call_tool("any")
                assert w.server.calls == 1
                # The session is not lost: after a login elsewhere it goes on.
                await w.oauth().login()
                assert (await session.call_tool("any")).text == "done"

    run(test())


def test_a_refusal_that_no_token_mends_is_told_as_the_server_told_it() -> None:
    async def test() -> None:
        async with world() as w, session_in(w) as session:
            w.server.site.routes["/mcp"] = lambda _: Answer(403, b"not on Sundays")
            with pytest.raises(Refused, match="not on Sundays") as failed:
                await session.call_tool("any")
            assert not isinstance(failed.value, LoginNeeded)

    run(test())


class Slow(Person):
    """Thinks about it until told otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def open_page(self, url: str) -> Mapping[str, str]:
        self.asked.set()
        await self.go.wait()
        return await super().open_page(url)


@contextlib.asynccontextmanager
async def hesitating() -> AsyncIterator[tuple[World, Session, Slow]]:
    """A session whose login has just ended, and a person who takes their time."""
    async with world() as w, session_in(w) as session:
        person = Slow()
        w.person.open_page = person.open_page  # type: ignore[method-assign]
        w.giver.revoke_all()
        w.giver._refresh.clear()
        yield w, session, person


def test_the_time_of_a_call_stands_still_while_a_person_logs_in() -> None:
    async def test() -> None:
        async with hesitating() as (_, session, person):
            calling = asyncio.ensure_future(session.call_tool("any", seconds=0.3))
            await person.asked.wait()
            done, _ = await asyncio.wait({calling}, timeout=0.6)
            assert not done
            person.go.set()
            assert (await calling).text == "done"

    run(test())


def test_the_time_of_a_call_goes_on_when_it_was_let_in_and_a_call_that_is_late_is_dropped() -> None:
    async def test() -> None:
        async with hesitating() as (w, session, person):
            person.go.set()
            mcp = w.server.site.routes["/mcp"]

            def late(asked: Asked) -> Any:
                return _never(asked) if asked.token in w.giver.valid and b"tools/call" in asked.body else mcp(asked)

            w.server.site.routes["/mcp"] = late
            with pytest.raises(TimedOut):
                await session.call_tool("any", seconds=0.3)
            # The server notices that nobody waits any more.
            await until(lambda: not session._carrier._pool._pool._busy)  # type: ignore[attr-defined]

    run(test())


async def _never(_: Asked) -> Answer:
    await asyncio.sleep(60)
    return Answer()


def test_a_server_is_not_taken_for_an_old_one_because_a_login_takes_long() -> None:
    async def test() -> None:
        async with world() as w:
            person = Slow()
            w.person.open_page = person.open_page  # type: ignore[method-assign]
            us = replace(US, probe_seconds=0.2)
            connecting = asyncio.ensure_future(connect(w.target(), us))
            await person.asked.wait()
            done, _ = await asyncio.wait({connecting}, timeout=0.4)
            assert not done
            assert len(w.server.site.at("/mcp")) == 1
            person.go.set()
            await (await connecting).close()
            methods = [one.value["method"] for one in w.server.site.at("/mcp")[:3]]
            assert methods == ["server/discover", "server/discover", "initialize"]

    run(test())


def test_a_call_that_nobody_waits_for_any_more_is_not_sent_and_the_login_goes_on() -> None:
    async def test() -> None:
        async with hesitating() as (w, session, person):
            calling = asyncio.ensure_future(session.call_tool("any"))
            await person.asked.wait()
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            person.go.set()
            await until(lambda: len(w.giver.valid) == 1)
            assert (await session.call_tool("any")).text == "done"
            assert w.server.calls == 1

    run(test())


def test_a_session_that_is_closed_during_a_login_lets_everybody_go() -> None:
    async def test() -> None:
        async with hesitating() as (w, session, person):
            calls = [asyncio.ensure_future(session.call_tool("any")) for _ in range(3)]
            listening = asyncio.ensure_future(session.listen())
            await person.asked.wait()
            await session.close()
            for waiting in (*calls, listening):
                with pytest.raises(ConnectionLost):
                    await waiting
            assert w.server.calls == 0

    run(test())


def test_listening_brings_its_token_too_and_is_let_in_again() -> None:
    async def test() -> None:
        async with world() as w, session_in(w) as session:
            w.giver.revoke_all()
            # This server has no such stream: who is let in is told so.
            mcp = w.server.site.routes["/mcp"]
            w.server.site.routes["/mcp"] = lambda asked: _no_stream(asked, mcp(asked))  # type: ignore[arg-type]
            await session.listen()
            tokens = [one.token for one in w.server.site.at("/mcp") if one.method == "GET"]
            assert len(set(tokens)) == 2
            assert w.giver.refreshes == 1

    run(test())


def _no_stream(asked: Asked, answer: Answer) -> Answer:
    return Answer(405) if asked.method == "GET" and answer.status != 401 else answer


def test_a_notification_is_told_again_with_a_new_token() -> None:
    async def test() -> None:
        async with world() as w, session_in(w) as session:
            w.giver.revoke_all()
            await session._carrier.tell(b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}')
            told = [one for one in w.server.site.at("/mcp") if b"roots" in one.body]
            assert [one.token in w.giver.valid for one in told] == [False, True]

    run(test())


def test_several_challenges_in_lines_of_their_own_are_all_heard() -> None:
    async def test() -> None:
        async with world() as w:
            mcp = w.server.site.routes["/mcp"]

            def two(asked: Asked) -> Answer:
                answer = mcp(asked)
                assert isinstance(answer, Answer)
                if answer.status == 401:
                    answer.headers["www-authenticate"] = 'Basic realm="x"'
                return answer

            w.server.site.routes["/mcp"] = two
            async with session_in(w) as session:
                assert (await session.call_tool("any")).text == "done"

    run(test())


def test_a_server_that_needs_no_token_is_not_bothered() -> None:
    async def test() -> None:
        async with world() as w, ours_on_http() as url:
            from kumihimo.wire.client.targets import Url

            oauth = OAuth(url, w.store)
            async with await connect(Url(url=url, authorization=oauth), US) as session:
                answers = await asyncio.gather(*(session.call_tool("add", {"a": n, "b": 1}) for n in range(20)))
                assert [answer.structured_content["sum"] for answer in answers] == list(range(1, 21))

    run(test())


@pytest.mark.parametrize("big", [False, True])
def test_what_is_sent_again_is_the_same_to_the_last_byte(big: bool) -> None:
    async def test() -> None:
        async with world() as w, session_in(w) as session:
            w.giver.revoke_all()
            await session.call_tool("any", {"text": "x\r\n" * (500_000 if big else 1)})
            first, second = [one for one in w.server.site.at("/mcp") if b"tools/call" in one.body]
            assert first.body == second.body
            assert {k: v for k, v in first.headers.items() if k != "authorization"} == {
                k: v for k, v in second.headers.items() if k != "authorization"
            }

    run(test())
