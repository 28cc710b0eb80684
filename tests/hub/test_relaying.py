"""The short way of a call: it ends as the long one does, whatever its server does, and is sent as often."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.attempt import Attempt
from kumihimo.hub.call import Asking
from kumihimo.hub.desk import Called, Desk
from kumihimo.hub.errors import Code
from kumihimo.hub.permission import Permission
from kumihimo.hub.relay import Relay
from kumihimo.hub.results import Answer
from kumihimo.wire.client.relayed import Relayed
from tests.conftest import StillThere
from tests.hub.hub_kit import IDEMPOTENT, READ, Scripted, StillTiming, run, until

QUICK = {"maxRetries": 2, "initialDelay": 1, "maxDelay": 4, "backoffMultiplier": 2}
Outcome = tuple[Any, ...]


class Short:
    """Calls at a desk that go the short way. `sent` is None for one that was left to the long way."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.sent: Relay | None = None

    def begin(self, name: str, params: Any = None, timeout_ms: float | None = None) -> asyncio.Future[Answer]:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def done(answer: Answer | Exception) -> None:
            assert isinstance(answer, Answer), answer
            # Fails where it is told twice.
            future.set_result(answer)

        self.sent = self.desk.relay_quickly(self.desk.new_call(name, params, timeout_ms), done)
        return future

    async def call(self, name: str, params: Any = None, timeout_ms: float | None = None) -> Answer:
        answer = self.begin(name, params, timeout_ms)
        assert self.sent is not None, "left to the long way"
        return (await answer).decoded()


async def opened(hub: Hub, *servers: Scripted, **options: Any) -> Desk:
    """A desk whose servers are there, and whose tools are known."""
    for server in servers:
        await hub.connect(server.name)
    desk = Desk(hub, **options)
    await desk.tools()
    # Changes are heard of from now on.
    await until(lambda: all(upstream.live and upstream.live.hears for upstream in hub._registry.upstreams))
    return desk


def outcome(answer: Answer, server: Scripted, tool: str) -> Outcome:
    error = answer.error
    # How much time was left of what there was is another each time.
    message = error and re.sub(r"within [\d.]+ s", "in time", error.message)
    told = error and (error.code, message, error.retryable, error.details)
    sent = (answer.metadata.attempts, server.calls(tool), server.lines("cancelled"))
    return (answer.success, answer.data, told, answer.metadata.server, *sent)


SCENES: dict[str, tuple[dict[str, Any], float | None]] = {
    "answers": ({"does": "echo"}, None),
    "structured": ({"does": "structured"}, None),
    "says that it failed": ({"does": "error"}, None),
    "crashes": ({"does": "crash"}, None),
    "crashes once, and may be asked again": ({"does": "crash", "times": 1, **IDEMPOTENT}, None),
    "crashes every time, and may be asked again": ({"does": "crash", **READ}, None),
    "refuses": ({"does": "rpc", "code": -32602}, None),
    "answers garbage first": ({"does": "garbage"}, None),
    "answers in no shape": ({"does": "shapeless"}, None),
    "answers twice": ({"does": "twice"}, None),
    "never answers": ({"does": "never"}, 100.0),
    "never answers, and may be asked again": ({"does": "never", **READ}, 100.0),
    "answers and is gone": ({"does": "last"}, None),
}


@pytest.mark.parametrize("scene", list(SCENES))
def test_the_short_way_ends_as_the_long_one_does(tmp_path: Path, scene: str) -> None:
    script, timeout_ms = SCENES[scene]
    found: list[Outcome] = []
    kept: list[Called] = []

    async def one(folder: Path, *, short: bool) -> None:
        server = Scripted(folder, "alpha", {"name": "tool", **script}, {"name": "fine", **READ})
        async with Hub(servers=[server.config], options={"retryPolicy": QUICK}) as hub:
            desk = await opened(hub, server, record=kept.append)
            if short:
                answer = await Short(desk).call("alpha:tool", {"a": 1}, timeout_ms)
            else:
                answer = (await desk.call("alpha:tool", {"a": 1}, timeout_ms)).decoded()
            # The next call finds everything in order.
            assert (await desk.call("alpha:fine", {})).success
            found.append(outcome(answer, server, "tool"))
            assert [upstream.in_flight for upstream in hub._registry.upstreams] == [0]

    for way in ("long", "short"):
        (tmp_path / way).mkdir()
        run(one(tmp_path / way, short=way == "short"))
    assert found[0] == found[1]
    first, _, second, _ = kept
    assert (first.outcome, first.attempts, first.sent_bytes) == (second.outcome, second.attempts, second.sent_bytes)
    assert (first.received_bytes, first.tool, first.server) == (second.received_bytes, second.tool, second.server)


def test_what_would_be_refused_is_left_to_the_long_way_with_nothing_sent(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    alpha = Scripted(tmp_path, "alpha", {"name": "strict", "inputSchema": schema}, {"name": "secret"}, {"name": "bare"})

    async def refused() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            desk = await opened(hub, alpha, permission=Permission(deny=("alpha:secret",)))
            short = Short(desk)
            for name, params in (
                ("alpha:strict", {"n": "one"}),
                ("alpha:strict", [1]),
                ("alpha:secret", {}),
                ("alpha:unknown", {}),
                ("beta:strict", {"n": 1}),
                # Which server has it must be looked up.
                ("bare", {}),
            ):
                short.begin(name, params)
                assert short.sent is None, name
            assert (await short.call("alpha:strict", {"n": 1})).success
            await hub.disconnect("alpha")
            short.begin("alpha:strict", {"n": 1})
            assert short.sent is None
        assert alpha.calls("strict") == 1

    run(refused())


def test_a_server_that_may_answer_with_a_question_or_can_take_no_more_now_is_called_the_long_way(
    tmp_path: Path,
) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    modern = Scripted(tmp_path, "modern", {"name": "echo"}, stateless=True, capabilities={"tools": {}})

    async def wait() -> None:
        async with Hub(servers=[alpha.config, modern.config]) as hub:
            desk = Desk(hub)
            assert len(await desk.tools()) == 2
            short = Short(desk)
            short.begin("modern:echo")
            assert short.sent is None
            assert (await desk.call("modern:echo", {})).success
            upstream = next(it for it in hub._registry.upstreams if it.name == "alpha")
            assert upstream.live is not None
            carrier: Any = upstream.live.session._carrier
            carrier._writing.pause_writing()
            short.begin("alpha:echo")
            assert short.sent is None
            waiting = asyncio.ensure_future(desk.call("alpha:echo", {}))
            carrier._writing.resume_writing()
            assert (await waiting).success
            assert (await short.call("alpha:echo")).success
            assert (alpha.calls("echo"), modern.calls("echo")) == (2, 1)

    run(wait())


def test_a_way_that_was_open_is_looked_at_again(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "change", "does": "change"}, {"name": "echo"})

    async def change() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            desk = await opened(hub, alpha)
            short = Short(desk)
            assert (await short.call("alpha:echo")).success
            assert (await short.call("alpha:change", {"name": "fresh"})).success
            # Its list is old: the first to call asks for it, on the long way.
            await until(lambda: not hub._registry.upstreams[0].live.lists)  # type: ignore[union-attr]
            short.begin("alpha:echo")
            assert short.sent is None
            assert (await desk.call("alpha:fresh", {})).success
            assert (await short.call("alpha:fresh")).success
            await hub.remove_server("alpha")
            short.begin("alpha:echo")
            assert short.sent is None

    run(change())


def test_a_server_that_wants_to_be_left_alone_is_not_called_the_short_way(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    timing = StillTiming()

    async def leave_alone() -> None:
        async with Hub(servers=[alpha.config], timing=timing) as hub:
            desk = await opened(hub, alpha)
            short = Short(desk)
            assert (await short.call("alpha:echo")).success
            (upstream,) = hub._registry.upstreams
            upstream.quiet_until = timing.at + 100_000
            for way in (short, Short(Desk(hub))):
                way.begin("alpha:echo")
                assert way.sent is None
            refused = (await desk.call("alpha:echo", {})).error
            assert refused is not None
            assert refused.code is Code.RATE_LIMIT_EXCEEDED
            assert alpha.calls("echo") == 1
            timing.at += 100_000
            assert (await short.call("alpha:echo")).success

    run(leave_alone())


def test_a_tool_of_a_list_that_has_grown_old_is_not_called_the_short_way(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"}, capabilities={"tools": {}})
    timing = StillTiming()

    async def grow_old() -> None:
        async with Hub(servers=[alpha.config], timing=timing) as hub:
            desk = Desk(hub)
            await desk.tools()
            short = Short(desk)
            assert (await short.call("alpha:echo")).success
            timing.at += 3600
            for way in (short, Short(Desk(hub))):
                way.begin("alpha:echo")
                assert way.sent is None
            assert alpha.lines("list") == 1
            assert (await desk.call("alpha:echo", {})).success
            assert alpha.lines("list") == 2
            assert (await short.call("alpha:echo")).success

    run(grow_old())


def test_who_goes_away_is_told_to_the_server_and_hears_nothing(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "never", "does": "never"}, {"name": "crash", "does": "crash", **READ})

    async def leave() -> None:
        async with Hub(servers=[alpha.config], options={"retryPolicy": {**QUICK, "initialDelay": 3_600_000}}) as hub:
            desk = await opened(hub, alpha)
            short = Short(desk)
            answer = short.begin("alpha:never")
            assert short.sent is not None
            await until(lambda: alpha.calls("never"))
            short.sent.cancel()
            short.sent.cancel()
            await until(lambda: alpha.lines("cancelled") == 1)
            assert hub._registry.upstreams[0].in_flight == 0
            # Also where it is about to be tried again.
            waiting = short.begin("alpha:crash")
            sent: Any = short.sent
            await until(lambda: sent._task is not None)
            sent.cancel()
            await asyncio.wait({sent._task})
            assert not answer.done()
            assert not waiting.done()
            assert alpha.calls("crash") == 1

    run(leave())


def test_answers_that_are_kept_are_kept_and_cleared_on_the_short_way_too(tmp_path: Path) -> None:
    reading = {"name": "count", "does": "count", **READ}
    alpha = Scripted(tmp_path, "alpha", reading, {"name": "write"}, config={"cache": True})

    async def keep() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            desk = await opened(hub, alpha)
            short = Short(desk)
            assert (await short.call("alpha:count")).data[0]["text"] == "1"
            short.begin("alpha:count")
            assert short.sent is None
            assert (await desk.call("alpha:count", {})).metadata.cached
            assert (await short.call("alpha:write")).success
            assert (await short.call("alpha:count")).data[0]["text"] == "2"

    run(keep())


def test_progress_and_questions_reach_who_called(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "ask", "does": "ask"}, {"name": "far", "does": "progress"})
    heard: list[Any] = []

    async def asked(method: str, params: Any) -> dict[str, Any]:
        heard.append((method, params["message"]))
        return {"action": "accept", "content": {"which": "this"}}

    def told(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def ask() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            desk = await opened(hub, alpha)
            short = Short(desk.asking(Asking(on_progress=told, on_input=asked, offers={"elicitation": {}})))
            answer = await short.call("alpha:ask")
            assert "this" in answer.data[0]["text"]
            assert (await short.call("alpha:far")).success
            assert heard == [("elicitation/create", "Which one?"), (1.0, 2.0, None), (2.0, 2.0, None)]
            # Who has to come again with the answer is not asked in the middle of the work.
            again = Short(desk.asking(Asking(on_input=asked, offers={"elicitation": {}}, comes_again=True)))
            answer = await again.call("alpha:ask")
            assert "cancel" in answer.data[0]["text"]
            assert len(heard) == 3

    run(ask())


def test_many_calls_at_once_get_each_its_own_answer(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def many() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            desk = await opened(hub, alpha)
            short = Short(desk)
            answers = await asyncio.gather(*(short.call("alpha:echo", {"n": n}) for n in range(300)))
            assert [f'"n": {n}}}' in answer.data[0]["text"] for n, answer in enumerate(answers)] == [True] * 300
            assert hub.counts()["alpha"].calls == alpha.calls("echo") == 300

    run(many())


def test_a_call_that_is_over_is_gone_without_being_looked_for(tmp_path: Path, still_there: StillThere) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def once() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            assert (await Short(await opened(hub, alpha)).call("alpha:echo", {"n": 1})).success
            assert still_there(Relay, Relayed, Attempt) == []

    run(once())


def test_a_mistake_in_between_is_told_to_who_called_and_to_nobody_else(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def mistake() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            desk = await opened(hub, alpha)
            heard: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            right: Callable[..., Any] = hub._calls._finish

            def wrong(call: Any, *rest: Any) -> Answer:
                if call.params == {"n": 1}:
                    raise KeyError("a fault of ours")
                return right(call, *rest)

            hub._calls._finish = wrong  # type: ignore[method-assign]
            sent = desk.relay_quickly(desk.new_call("alpha:echo", {"n": 1}), heard.set_result)
            assert sent is not None
            fine = Short(desk).call("alpha:echo", {"n": 2})
            assert (await fine).success
            assert isinstance(await heard, KeyError)
            assert hub._registry.upstreams[0].in_flight == 0

    run(mistake())


def test_a_closed_hub_has_no_short_way(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "never", "does": "never"})

    async def close() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            desk = await opened(hub, alpha)
            short = Short(desk)
            answer = short.begin("alpha:never")
            await until(lambda: alpha.calls("never"))
        told = (await answer).error
        assert told is not None
        assert told.code is Code.DELIVERY_UNKNOWN
        short.begin("alpha:never")
        assert short.sent is None

    run(close())


def test_what_was_read_while_something_was_written_is_not_kept(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    tools = ({"name": "count", "does": "count", **READ}, {"name": "write", "does": "wait", "file": str(gate)})
    alpha = Scripted(tmp_path, "alpha", *tools, config={"cache": True})

    async def overlap() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            desk = await opened(hub, alpha)
            short = Short(desk)
            writing = short.begin("alpha:write")
            assert (await short.call("alpha:count")).data[0]["text"] == "1"
            await asyncio.to_thread(gate.touch)
            assert (await writing).success
            assert (await short.call("alpha:count")).data[0]["text"] == "2"

    run(overlap())
