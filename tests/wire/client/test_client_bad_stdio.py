"""Servers on stdio that do what none should: nobody waits for ever, and nobody gets another's answer."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import msgspec
import pytest
from client_kit import US, bad_on_stdio, ours_on_stdio, run, until
from msgspec.structs import replace

from kumihimo.wire.client import dialogue
from kumihimo.wire.client.beyond_measure import answered_call
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import BadAnswer, ConnectionFailed, ConnectionLost, TimedOut
from kumihimo.wire.client.lines import Lines
from kumihimo.wire.client.session import Session
from kumihimo.wire.client.targets import Command
from kumihimo.wire.errors import RpcError


def pid_of(session: Session) -> int:
    return session._carrier.pid  # type: ignore[attr-defined]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_garbage_between_the_messages_is_passed_over() -> None:
    async def test() -> None:
        heard: list[str] = []
        async with await connect(
            bad_on_stdio("garbage"), US, on_notification=lambda method, _: heard.append(method)
        ) as session:
            assert session.revision.name == "2025-11-25"
            for _ in range(3):
                assert (await session.call_tool("any")).text == "garbage"
            assert heard == ["notifications/message"] * 3
            assert session.noise >= 3 * 6

    run(test())


def test_half_a_message_and_then_death_is_a_lost_connection_that_tells_the_last_words() -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("half"), US) as session:
            with pytest.raises(ConnectionLost) as lost:
                await session.call_tool("any")
            assert lost.value.delivered
            assert "exited with code 3" in str(lost.value)
            assert "the last words" in str(lost.value)
            with pytest.raises(ConnectionFailed) as failed:
                await session.call_tool("any")
            assert not failed.value.delivered

    run(test())


def test_a_server_that_never_answers_times_out_and_is_told() -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("silent"), US) as session:
            with pytest.raises(TimedOut):
                await session.call_tool("any", seconds=0.1)
            await until(lambda: "cancelled 3" in session._carrier.errors)  # type: ignore[attr-defined]

    run(test())


def test_answers_with_wrong_ids_go_to_nobody() -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("wrong-ids"), US) as session:
            answer = await session.call_tool("any")
            assert answer.text == "wrong-ids"
            assert session.noise == 7

    run(test())


@pytest.mark.parametrize(
    "mode",
    [
        "bad-utf-8", "lone-surrogate", "not-a-number", "fraction-id", "neither", "control-character", "unknown-escape",
        "nested", "long-and-no-number",
    ],
)  # fmt: skip
def test_nobody_waits_for_another_answer_than_the_one_that_can_not_be_read(mode: str) -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio(mode), US, seconds=0) as session:
            for _ in range(2):
                with pytest.raises(BadAnswer):
                    await session.call_tool("any")
            assert session.noise == 2

    run(test())


@pytest.mark.parametrize("mode", ["null-error", "byte-order-mark"])
def test_an_answer_that_says_a_little_too_much_is_one(mode: str) -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio(mode), US) as session:
            assert (await session.call_tool("any")).text == mode

    run(test())


def test_a_batch_is_one_where_the_revision_has_them_and_noise_elsewhere() -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("batch"), US) as session:
            assert session.revision.name == "2025-03-26"
            assert (await session.call_tool("any")).text == "batch"
            assert session.noise == 0
        async with await connect(bad_on_stdio("brackets"), US) as session:
            # One message in brackets is that message, whoever puts it there.
            assert (await session.call_tool("any")).text == "brackets"
        async with await connect(bad_on_stdio("unasked-batch"), US) as session:
            with pytest.raises(TimedOut):
                await session.call_tool("any", seconds=0.1)
            await until(lambda: session.noise == 1)

    run(test())


@pytest.mark.parametrize("batches", [False, True])
def test_a_long_text_that_is_almost_a_batch_is_one_noise(batches: bool) -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("long-batch"), US) as session:
            session._dialogue.batches = batches
            assert (await session.call_tool("any")).text == "long-batch"
            assert session.noise == 1

    run(test())


def test_what_does_not_begin_as_a_message_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []

    def decode(data: bytes) -> None:
        heard.append(data)
        raise msgspec.DecodeError

    noise = [b"Config: loaded", b"x", b'"text"', b"42", b"null", b"\xff"]
    almost = [b"{not json", b"[1,2", b"\xef\xbb\xbfx", b" {"]
    monkeypatch.setattr(dialogue, "_decode", decode)
    hearing = dialogue.Dialogue()
    for line in (*noise, *almost):
        hearing.hear(line, lambda _: None)
    assert heard == almost
    assert hearing.noise == len(noise) + len(almost)


def test_a_message_that_is_too_long_is_passed_over_and_one_that_is_not_is_read() -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("huge", most_bytes=1_000_000), US) as session:
            assert (await session.call_tool("any")).text == "huge"
            assert session.noise == 3
        async with await connect(bad_on_stdio("beyond-measure"), US) as session:
            assert len((await session.call_tool("before")).text) == 7_000_000

    run(test())


@pytest.mark.parametrize("number", ["before", "after"])
def test_an_answer_that_is_too_long_fails_its_call_at_once_and_no_other(number: str) -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("beyond-measure", most_bytes=1_000_000), US, seconds=0) as session:
            for _ in range(2):
                with pytest.raises(BadAnswer, match="more than 1000000 bytes"):
                    await session.call_tool(number)
            assert session.noise == 2

    run(test())


@pytest.mark.parametrize(
    ("beginning", "end", "number"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"a', b'b"}}', 7),
        (b' { "id" : "7" , "jsonrpc" : "2.0" , "error" : {"a', b'b"}}', 7),
        (b'{"result":{"a', b'b"},"jsonrpc":"2.0","id":7}\r', 7),
        (b'{"jsonrpc":"2.0","result":["a', b'b"] , "id" : 7 , "jsonrpc" : "2.0" }', 7),
        (b'{"result":{"a', b'b","id":7}}', None),
        (b'{"result":"a', b',\\"id\\":7}"}', None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":["', b'"]}', None),
        (b'{"method":"notifications/message","params":["', b'"],"id":7}', None),
        (b'[{"id":7,"result":{"a', b'b"}}]', None),
        (b"a log of many words", b',"id":7}', None),
        (b'{"id":7.5,"result":{"a', b'b"}}', None),
    ],
)
def test_of_an_answer_that_is_too_long_either_end_may_tell_whose_it_is(
    beginning: bytes, end: bytes, number: int | None
) -> None:
    assert answered_call(beginning, end) == number


def test_questions_of_the_server_are_answered_and_a_malformed_error_is_one() -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("ping"), US) as session:
            assert (await session.call_tool("any")).text == "{} -32601"
        async with await connect(bad_on_stdio("malformed"), US) as session:
            with pytest.raises(RpcError, match="no object"):
                await session.call_tool("any")

    run(test())


def test_a_list_that_never_ends_is_given_up() -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("pages"), US) as session:
            with pytest.raises(BadAnswer):
                await session.list_tools()

    run(test())


def test_an_old_server_that_dies_of_what_it_does_not_know_is_started_again() -> None:
    async def test() -> None:
        async with await connect(bad_on_stdio("proud"), US) as session:
            assert (await session.call_tool("any")).text == "proud"

    run(test())


def test_a_server_that_does_not_come_up_says_why_and_leaves_nothing_behind() -> None:
    async def test() -> None:
        with pytest.raises((ConnectionLost, ConnectionFailed), match="no database"):
            await connect(bad_on_stdio("dies-at-once"), US)
        with pytest.raises(ConnectionFailed):
            await connect(Command(argv=("/nothing/here",)), US)
        with pytest.raises(ConnectionFailed, match="stateless"):
            await connect(bad_on_stdio("echo"), US, era="stateless")

    run(test())


def test_a_server_that_would_not_end_is_killed_with_everything_it_started() -> None:
    async def test() -> None:
        session = await connect(bad_on_stdio("stubborn", grace_seconds=0.2), US)
        pid = pid_of(session)
        await session.close()
        assert not alive(pid)
        # A shell that starts a child which holds the output, and is gone itself.
        shell = f"sleep 1000 & echo $! >&2; exec {sys.executable} {ours_on_stdio().argv[1]}"
        session = await connect(replace(ours_on_stdio(), argv=("/bin/sh", "-c", shell)), US)
        await until(lambda: session._carrier.errors)  # type: ignore[attr-defined]
        child = int(session._carrier.errors.split()[0])  # type: ignore[attr-defined]
        assert alive(child)
        await session.close()
        await until(lambda: not alive(child))

    run(test())


def test_whoever_stops_waiting_for_the_end_of_a_session_leaves_no_process_and_no_pipe() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    pids: list[int] = []

    async def test() -> None:
        session = await connect(bad_on_stdio("stubborn", grace_seconds=1000), US)
        pids.append(pid_of(session))
        closing = asyncio.ensure_future(session.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing

    run(test())
    assert [Path(f"/proc/{pid}").exists() for pid in pids] == [False]
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_session_ends_in_order_whose_server_is_gone_and_has_left_somebody_with_its_last_words() -> None:
    async def test() -> None:
        shell = f"sleep 1000 >&2 & exec {sys.executable} {ours_on_stdio().argv[1]}"
        target = replace(ours_on_stdio(), argv=("/bin/sh", "-c", shell), grace_seconds=1000)
        session = await connect(target, US)
        os.kill(pid_of(session), 9)
        await until(lambda: not session._carrier.ready)  # type: ignore[attr-defined]
        await session._carrier._process.ended()  # type: ignore[attr-defined]
        await session.close()

    run(test())


def test_calls_under_way_fail_when_the_session_is_closed() -> None:
    async def test() -> None:
        session = await connect(ours_on_stdio(), US)
        waiting = asyncio.ensure_future(session.call_tool("quiet_wait"))
        await session.call_tool("add", {"a": 1, "b": 1})
        await session.close()
        with pytest.raises(ConnectionLost):
            await waiting

    run(test())


def test_lines_are_whole_however_they_are_cut() -> None:
    text = b"one\n\n" + b"x" * 50 + b"\ntwo\n" + b"y" * 51 + b"\nthree\nfour"
    for size in range(1, len(text)):
        ends: list[tuple[bytes, bytes]] = []
        lines = Lines(50, lambda beginning, end: ends.append((beginning, end)))  # noqa: B023 - called in this round
        found = [line for at in range(0, len(text), size) for line in lines.feed(text[at : at + size])]
        assert found == [b"one", b"", b"x" * 50, b"two", b"three"], size
        assert ends == [(b"y" * 51, b"y" * 51)]


def test_of_a_line_that_is_passed_over_both_ends_are_kept() -> None:
    text = b"<" * 300 + b"-" * 5000 + b">" * 300 + b"\n"
    for size in (1, 7, 256, 299, 1000, len(text)):
        ends: list[tuple[bytes, bytes]] = []
        lines = Lines(1000, lambda beginning, end: ends.append((beginning, end)))  # noqa: B023 - called in this round
        assert [line for at in range(0, len(text), size) for line in lines.feed(text[at : at + size])] == []
        assert ends == [(b"<" * 256, b">" * 256)], size
