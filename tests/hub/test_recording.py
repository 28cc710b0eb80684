"""The record of calls: written together a moment later, whole at the end, and never twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from kumihimo.domain.errors import StoreUnreachable
from kumihimo.domain.hub_call import KIND, HubCall
from kumihimo.hub.desk import Called
from kumihimo.store.mapping import microseconds
from kumihimo.surfaces.hubs.recorder import Recorder
from kumihimo.surfaces.hubs.seats import Seat
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.identifiers import counting_identifiers
from tests.hub.hub_kit import run, until

CALLED = Called("alpha", "echo", 1.5, 1, False, 10, 20, "ok")
SEAT = Seat(Path("/project"), None, "owner", project_id="prj_1", execution_id="exec_1")


def test_what_was_noted_is_written_together_and_all_of_it_at_the_end() -> None:
    batches: list[list[tuple[str, HubCall]]] = []

    async def write(calls: list[tuple[str, HubCall]]) -> None:
        batches.append(calls)

    async def note() -> None:
        recorder = Recorder(write, counting_identifiers())
        for _ in range(250):
            recorder.note(SEAT, CALLED)
        await until(lambda: batches)
        assert [len(batch) for batch in batches] == [250]
        recorder.note(SEAT, CALLED)
        await recorder.close()
        written = [call for batch in batches for _, call in batch]
        assert len(written) == len({call.id for call in written}) == 251
        assert (written[0].execution_id, written[0].received_bytes) == ("exec_1", 20)

    run(note())


def test_a_board_that_takes_nothing_for_a_while_gets_everything_later_and_once() -> None:
    written: list[str] = []
    tries = 0
    going = asyncio.Event()

    async def write(calls: list[tuple[str, HubCall]]) -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise StoreUnreachable("board", reason="it is away")
        await going.wait()
        written.extend(call.id for _, call in calls)

    async def note() -> None:
        recorder = Recorder(write, counting_identifiers())
        for _ in range(3):
            recorder.note(SEAT, CALLED)
        await until(lambda: tries == 3)
        # The end comes while it is being written.
        closing = asyncio.create_task(recorder.close())
        recorder.note(SEAT, CALLED)
        going.set()
        await closing
        assert len(written) == len(set(written)) == 4

    run(note())


def test_calls_are_events_on_either_database_and_go_with_the_old_ones(kit: BoardKit) -> None:
    board = kit.board
    calls = [
        (f"actor{number}", HubCall(f"hub_{number}", None, None, "a", "t", kit.clock(), 1.0, 1, False, 1, 2, "ok"))
        for number in range(205)
    ]
    board.hub_calls.keep(calls)
    events = [event for event in board.store.events_after(None, 1000) if event.kind == KIND]
    assert [event.subject for event in events] == [f"hub_{number}" for number in range(205)]
    assert [event.actor for event in events] == [f"actor{number}" for number in range(205)]
    assert [call.id for call in board.hub_calls.since(calls[0][1].at, 2)] == ["hub_204", "hub_203"]
    later = calls[0][1].at + timedelta(days=1)
    board.store.write(lambda transaction: transaction.events.fold(microseconds(later)))
    assert [event for event in board.store.events_after(None, 1000) if event.kind == KIND] == []
