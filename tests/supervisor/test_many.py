"""Two hundred agents through twenty slots: all end right, and the supervisor is afterwards as it was before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec import Struct

from kumihimo.domain.execution import Execution
from kumihimo.testing.scripts import Script

from .home import Home
from .patience import until
from .test_streams import memory

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("many agents")]
WAVES = 10
SIZE = 20


class Burden(Struct, frozen=True):
    """What a supervisor holds on to."""

    descriptors: int
    memory: int
    zombies: list[int]

    @classmethod
    def of(cls, pid: int) -> Burden:
        family = _below(pid)
        return cls(
            len(os.listdir(f"/proc/{pid}/fd")),  # noqa: PTH208 - counted, not used
            memory(pid, "VmRSS"),
            [child for child, state in family.items() if state == "Z"],
        )


def _below(pid: int) -> dict[int, str]:
    """Every process that descends from this one, with its state."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text("utf-8", "replace")
            except OSError:
                continue
            state, parent = stat[stat.rindex(")") + 2 :].split(None, 2)[:2]
            parents[int(entry.name)] = (int(parent), state)
    found: dict[int, str] = {}
    waiting = [pid]
    while waiting:
        above = waiting.pop()
        for child, (parent, state) in parents.items():
            if parent == above and child not in found:
                found[child] = state
                waiting.append(child)
    return found


def script(home: Home, number: int) -> Script:
    made = home.script(f"agent-{number}").lines(5, text=f"{{n}} of {number}").tool("search")
    return made.ends(3) if number % 10 == 9 else made


def require_right(home: Home, runs: list[Execution]) -> None:
    for number, run in enumerate(home.ended(runs)):
        expected = ("failed", 3) if number % 10 == 9 else ("completed", 0)
        assert (run.status, run.exit_code) == expected
        assert (home.seen(run).lines, home.seen(run).tool_calls) == (10, 1)
    starts = [record["name"] for record in home.records("start")]
    assert sorted(starts) == sorted(f"agent-{number}" for number in range(WAVES * SIZE))
    assert home.holding_slots() == 0


def require_unburdened(home: Home, pid: int, before: Burden) -> None:
    until(lambda: not Burden.of(pid).zombies, "the burial of the dead")
    after = at_rest(pid)
    # A shell that is ready takes two, once we have been told of it; two hundred runs would leave far more.
    assert after.descriptors <= before.descriptors + 2 * SIZE
    print(f"memory of the supervisor: {before.memory >> 20} MB before, {after.memory >> 20} MB after")
    assert after.memory < before.memory * 1.5 + (20 << 20)
    assert home.alive() == []


def settled(home: Home, pid: int) -> Burden:
    """Once it has run some."""
    home.ended(home.run(*(home.script(f"first-{n}") for n in range(SIZE))))
    home.log.unlink()
    return at_rest(pid)


def at_rest(pid: int) -> Burden:
    """When its nursery is full again, and nothing else is there."""
    until(lambda: len(_below(pid)) == SIZE + 1, "a full nursery")
    looks = [Burden.of(pid)]
    # A shell is counted before we are told of it: until the number stays.
    until(lambda: looks.append(Burden.of(pid)) or len({look.descriptors for look in looks[-5:]}) == 1 < len(looks[-5:]))
    return looks[-1]


def test_two_hundred_in_ten_stages(home: Home) -> None:
    supervisor = home.supervisor()
    before = settled(home, supervisor.pid)
    stages = home.plan([[script(home, wave * SIZE + n) for n in range(SIZE)] for wave in range(WAVES)])
    require_right(home, [run for stage in stages for run in stage])
    ends: dict[str, float] = {record["name"]: record["monotonic"] for record in home.records("end")}
    starts: dict[str, float] = {record["name"]: record["monotonic"] for record in home.records("start")}
    for wave in range(1, WAVES):
        last = max(ends[f"agent-{(wave - 1) * SIZE + n}"] for n in range(SIZE))
        assert last <= min(starts[f"agent-{wave * SIZE + n}"] for n in range(SIZE))
    require_unburdened(home, supervisor.pid, before)


def test_two_hundred_as_they_find_room(home: Home) -> None:
    supervisor = home.supervisor()
    before = settled(home, supervisor.pid)
    runs: list[Execution] = []
    while len(runs) < WAVES * SIZE:
        free = until(lambda: SIZE - home.holding_slots(), "a slot")
        numbers = range(len(runs), min(len(runs) + free, WAVES * SIZE))
        runs += home.run(*(script(home, number) for number in numbers))
    require_right(home, runs)
    require_unburdened(home, supervisor.pid, before)
