"""A server that is killed, comes back, does not let anybody in, or is none: the Runner waits, and loses nothing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.runner.yard import Yard, logs_in, reports
from tests.supervisor.patience import until


def test_an_end_that_could_not_be_told_is_told_once_when_the_server_is_back(yard: Yard) -> None:
    gate = yard.folder / "gate"
    task = yard.task()
    runner = yard.runner(play=logs_in(yard.script()).note("in").wait(gate).exit(5))
    runner.spawn()
    yard.until_records("note")
    yard.kill(yard.processes[0])
    gate.touch()
    runner.until_events("ended")
    runner.until_events("unreachable")
    (waiting,) = list((runner.home / "runner" / "outbox").iterdir())
    assert json.loads(waiting.read_bytes())["report"]["exit_code"] == 5
    assert [one.state for one in yard.instances()] == ["alive"]
    yard.up()
    (instance,) = yard.until_instances(lambda found: found[0].state == "exited")
    assert instance.exit_code == 5
    runner.until_events("delivered")
    until(lambda: list((runner.home / "runner" / "outbox").iterdir()) == [], "the outbox")
    assert yard.show(task).status == "in_progress"
    events = yard.board.store.read(lambda transaction: transaction.events.after(None))
    exits = [event for event in events if event.kind == "instance.exited"]
    assert len(exits) == 1


def test_the_server_restarts_while_the_runner_waits_and_the_next_task_is_started(yard: Yard) -> None:
    runner = yard.runner(play=reports(logs_in(yard.script())))
    runner.spawn()
    runner.until_events("connected")
    yard.kill(yard.processes[0])
    runner.until_events("unreachable")
    task = yard.task()
    yard.up()
    yard.until_status(task, "done")
    assert len(yard.records("start")) == 1


def test_a_runner_with_a_wrong_token_is_refused_and_waits(yard: Yard) -> None:
    task = yard.task()
    runner = yard.runner(play=reports(logs_in(yard.script())), token="krun_" + "0" * 32)
    process = runner.spawn()
    (refused,) = runner.until_events("refused")
    assert refused["seconds"] == 60
    assert runner.spawn("--once").wait(60) == 6, "one Runner of a home at a time"
    process.kill()
    process.wait()
    assert runner.spawn("--once").wait(60) == 1
    assert "KUMI_TOKEN" in yard.said
    assert "krun_" not in yard.said
    assert yard.show(task).status == "in_progress"
    assert yard.instances() == []
    assert yard.records("start") == []


GARBAGE: dict[str, Any] = {
    "no HTTP": b"hello\r\n\r\n",
    "a page": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/html\r\n\r\n<html>",
    "nothing": b"",
    "an error": b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
}


@contextmanager
def garbled(answer: bytes) -> Iterator[tuple[str, list[int]]]:
    """A server that answers everything with the same bytes, and counts how often it was asked."""
    asked: list[int] = []
    ready, over = threading.Event(), asyncio.Event()
    place: list[Any] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1 << 16):
            asked.append(1)
            writer.write(answer)
            await writer.drain()
            if not answer:
                break
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        place[:] = [asyncio.get_running_loop(), server.sockets[0].getsockname()[1]]
        ready.set()
        await over.wait()
        server.close()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    ready.wait()
    try:
        yield f"http://127.0.0.1:{place[1]}", asked
    finally:
        place[0].call_soon_threadsafe(over.set)
        thread.join()


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_from_the_server_is_waited_out_and_not_asked_again_at_once(yard: Yard, kind: str) -> None:
    runner = yard.runner(play=reports(logs_in(yard.script())))
    with garbled(GARBAGE[kind]) as (url, asked):
        process = runner.spawn("--server", url)
        seconds = [event["seconds"] for event in runner.until_events("unreachable", 2)]
        assert seconds == [1, 2]
        # A probe and a handshake each time, and what comes back before the first pause is counted as well.
        assert len(asked) <= 9
        process.kill()
        process.wait()
    assert yard.records("start") == []
