"""Who was away goes on where it was: nothing is missed, nothing is told twice, whatever was killed in between."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.lead.shop import until
from tests.live.conftest import Home
from tests.live.watcher import Watcher

FOLDED = ("agent:status_update",)


def milestones(told: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What may be told only once, with what it is about."""
    return [
        (message["type"], message["data"].get("agentId") or message["data"].get("groupId") or message["cursor"])
        for message in told
        if message["type"].startswith(("agent:", "group:")) and message["type"] not in FOLDED
    ]


def test_with_a_cursor_there_is_no_snapshot_and_everything_since(home: Home) -> None:
    with home.watch() as watcher:
        cursor = watcher.until_type("snapshot")["cursor"]
    group = home.lead.group()
    runs = home.lead.run(group, *(home.shop.script() for _ in range(3)))
    home.lead.ended(*runs)
    with home.watch(cursor) as back:
        while Counter(back.types())["agent:completed"] < 3:
            back.next()
    kinds = Counter(back.types())
    assert (kinds["snapshot"], kinds["group:created"], kinds["agent:created"]) == (0, 1, 3)


def test_wherever_one_is_cut_off_nothing_is_missed_and_nothing_told_twice(home: Home) -> None:
    with home.watch() as whole:
        cursor = whole.until_type("snapshot")["cursor"]
        group = home.lead.group("sequential")
        home.lead.plan(group, [home.shop.script(), home.shop.script().report_result()], [home.shop.script()])
        while Counter(whole.types())["agent:completed"] < 3:
            whole.next()
    pieces: list[dict[str, Any]] = []
    while Counter(message["type"] for message in pieces)["agent:completed"] < 3:
        # One message for each connection: cut off in every place there is.
        with home.watch(cursor) as piece:
            milestone = piece.until(lambda message: message["type"] not in FOLDED)
        cursor = milestone["cursor"]
        pieces.append(milestone)
    assert milestones(pieces) == milestones(whole.told)


def test_a_killed_server_costs_nobody_a_message(home: Home) -> None:
    gates = [home.shop.gate() for _ in range(2)]
    group = home.lead.group()
    with home.watch() as watcher:
        watcher.until_type("snapshot")
        home.lead.run(group, *(home.shop.script().wait(gate) for gate in gates))
        while Counter(watcher.types())["agent:created"] < 2:
            watcher.next()
        home.shop.kill_host()
        watcher.until_closed()
    gates[0].touch()
    home.bring_up()
    with home.watch(watcher.cursor) as back:
        gates[1].touch()
        while Counter(back.types())["agent:completed"] < 2:
            back.next()
    assert max(Counter(milestones(watcher.told + back.told)).values()) == 1


def test_a_cursor_of_another_board_is_refused_with_a_reason(home: Home) -> None:
    for wrong in ("999999999999", "nonsense"):
        with home.watch(wrong) as watcher:
            code, reason = watcher.until_closed()
        assert (code, watcher.told) == (4409, [])
        assert "without one" in reason


def test_many_who_watch_are_told_the_same_in_the_same_order(home: Home) -> None:
    watchers: list[Watcher] = []
    try:
        for _ in range(5):
            watchers.append(home.watch())
            watchers[-1].until_type("snapshot")
            home.lead.group()
        runs = home.lead.run(home.lead.group(), *(home.shop.script() for _ in range(4)))
        home.lead.ended(*runs)
        for watcher in watchers:
            while Counter(watcher.types())["agent:completed"] < 4:
                watcher.next()
        # Who came last has missed some of the groups, and nothing of what came then.
        last = milestones(watchers[-1].told)
        assert all(milestones(watcher.told)[-len(last) :] == last for watcher in watchers)
    finally:
        for watcher in watchers:
            watcher.close()


def test_the_end_of_the_server_is_told_to_who_watches(home: Home) -> None:
    with home.watch() as watcher:
        watcher.until_type("snapshot")
        running = home.running
        home.shop.kumi_plain("down")
        until(lambda: not running.alive)
        assert watcher.until_closed()[0] == 1001
