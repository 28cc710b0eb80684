"""Days that pass at once: an idle Runner starts nobody and hardly asks; one that is refused waits longer and longer."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from kumihimo.runner.desk import Trouble
from kumihimo.testing import scripts
from kumihimo.testing.scripts import Script
from tests.runner.in_process import AGENT, Bench, FastClock, Over

DAY = timedelta(hours=24)


def pass_a_day(bench: Bench) -> None:
    async def run() -> None:
        runner = bench.runner()
        try:
            await runner.run()
        finally:
            bench.starter.close()

    with pytest.raises((Over, ExceptionGroup)) as ended:
        asyncio.run(run())
    assert ended.group_contains(Over) or isinstance(ended.value, Over)


@pytest.mark.parametrize(("waits", "questions"), [(True, 2 * 86_400 / 45), (False, 4 * 86_400 / 5)])
def test_a_day_without_work_starts_nobody(tmp_path: Path, waits: bool, questions: float) -> None:
    bench = Bench(tmp_path, clock=FastClock(over=DAY), waits=waits)
    pass_a_day(bench)
    assert bench.desk.reports == []
    assert len(bench.desk.asked) <= questions + 4
    assert ("should_start" in bench.desk.asked) is not waits
    assert not (bench.state / "instances").exists()


def test_a_day_with_work_for_others_alone_is_no_busy_day(tmp_path: Path) -> None:
    bench = Bench(tmp_path, clock=FastClock(over=DAY))
    bench.desk.work = lambda: True
    bench.desk.client = "no-such-client"
    # Every start fails: the pair cools down, longer each time, while the server says all day that there is work.
    pass_a_day(bench)
    assert bench.kinds().count("unstartable") <= 30
    assert len(bench.desk.asked) <= 4 * 86_400 / 5
    assert bench.kinds().count("ignored") == 0


@pytest.mark.parametrize(("refused", "most"), [(True, 31), (False, 1_450)])
def test_a_day_before_a_closed_door_is_waited_out(tmp_path: Path, refused: bool, most: int) -> None:
    bench = Bench(tmp_path, clock=FastClock(over=DAY))
    bench.desk.trouble = Trouble("no", refused=refused)
    pass_a_day(bench)
    assert bench.kinds().count("refused" if refused else "unreachable") <= most
    pauses = [facts["seconds"] for kind, facts in bench.told if kind in ("refused", "unreachable")]
    assert pauses[:3] == ([60, 120, 240] if refused else [1, 2, 4])
    assert max(pauses) == (3600 if refused else 60)


def test_an_agent_that_says_nothing_for_too_long_is_ended(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(Script("mute", log=tmp_path / "log").hang().document()))
    command = json.dumps(scripts.command("codex", script=script))
    bench = Bench(tmp_path, config=f"[clients.codex]\ncommand = {command}\n")
    # Its capture is of today: so is the clock.
    bench.desk.work = lambda: not bench.desk.reports

    async def test() -> None:
        runner = bench.runner(silence=timedelta(minutes=30))
        async with asyncio.timeout(60):
            waiting = asyncio.ensure_future(runner.run_once())
            while not scripts.records(tmp_path / "log", "start"):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)
            from datetime import UTC, datetime

            bench.clock.at = datetime.now(UTC) + timedelta(minutes=31)
            await waiting
        bench.starter.close()

    asyncio.run(test())
    assert "hung" in bench.kinds()
    end = bench.desk.reports[-1]
    assert (end.state, end.signal, end.agent_id) == ("exited", "SIGTERM", AGENT)
    (start,) = scripts.records(tmp_path / "log", "start")
    assert not scripts.is_alive(start)
    assert os.listdir(bench.state / "outbox") == []  # noqa: PTH208
