"""`kumi status --watch`: what is shown, when, on a terminal and elsewhere, and how it ends."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest

from kumihimo.app import open_board
from kumihimo.domain.evidence import Evidence
from kumihimo.domain.execution import Report
from kumihimo.domain.observation import Observation, Usage
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.settings import Flags, load
from kumihimo.surfaces.cli.status_drawing import length, lines, short
from kumihimo.surfaces.cli.status_scene import Scene, look
from kumihimo.testing.boards import BoardKit
from tests.cli.conftest import Kumi
from tests.lead.shop import BOUND_SECONDS, until
from tests.notices.conftest import Shop

TODAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def town(kit: BoardKit) -> Shop:
    with mock.patch("kumihimo.services.passkeys.hash_of", return_value="none"):
        made = kit.board.projects.init("/srv/shop", git=True)
    return Shop(kit, made.project, next(agent for agent in made.agents if agent.name == "coder"))


def scene(town: Shop) -> Scene:
    return look(town.board, None, TODAY)


def text(town: Shop) -> str:
    return "\n".join(line.text for line in lines(scene(town), town.kit.clock(), "en"))


def test_an_empty_board_says_that_nothing_is_to_be_done(town: Shop) -> None:
    assert "Nothing needs you." in text(town)
    assert "Nobody is at work." in text(town)


def test_what_needs_somebody_is_shown_oldest_first_with_the_command_to_go_on(town: Shop) -> None:
    blocked = town.move(town.task("Sell shoes"), "in_progress", "blocked", reason="No key")
    town.kit.clock.advance(minutes=1)
    waiting = town.move(town.task("Sell boots"), "in_progress")
    run = town.worker(waiting)
    town.complete(run)
    town.board.evidence.verify(run.id, Evidence(run.id, None, None, town.kit.clock()))
    town.kit.clock.advance(minutes=1)
    handoff = town.board.handoffs.create(town.here, blocked.id, from_agent="coder", summary="Yours").handoff
    town.board.handoffs.create(town.here, blocked.id, from_agent="coder", to_agent="reviewer", summary="Not yours")
    town.kit.clock.advance(minutes=1)
    failed = town.group(2)[0]
    town.fail(failed, exit_code=3)
    needs = scene(town).needs_you
    assert [(need.kind, need.id) for need in needs] == [
        ("task", f"#{blocked.number}"),
        ("merge", f"#{waiting.number}"),
        ("handoff", handoff.id),
        ("run", failed.id),
    ]
    assert needs[0].command == f"kumi task show {blocked.id}"
    assert needs[1].command == f"kumi merge {waiting.id}"
    drawn = text(town)
    assert "NEEDS YOU (4)" in drawn
    assert re.search(r"⚠ blocked  #1  Sell shoes  3 m 00 s\n      No key\n", drawn)


def test_a_failure_that_somebody_went_on_from_or_that_is_a_day_old_needs_nobody(town: Shop) -> None:
    from kumihimo.services.groups import Limits

    retried, old = town.group(2)
    town.fail(retried)
    town.fail(old)
    town.board.groups.retry(retried.id, Limits(50, town.project.id))
    assert [need.id for need in scene(town).needs_you] == [old.id]
    town.kit.clock.advance(hours=25)
    assert scene(town).needs_you == []


def test_work_is_shown_group_by_group_with_stage_tools_tokens_time_and_last_words(town: Shop) -> None:
    stages = town.plan(1, 1)
    run = town.start(stages[0][0])
    town.board.executions.observe(
        [Observation(run.id, last_message="Reading\nsession.py \x1b[2J", tool_calls=31, usage=Usage(80_000, 4_000))]
    )
    town.kit.clock.advance(minutes=6, seconds=12)
    (group,) = scene(town).groups
    assert (group.stage, group.stages, [run.status for run in group.runs]) == (1, 2, ["running", "queued"])
    drawn = text(town)
    assert "WORKING (2)" in drawn
    assert "Stage by stage  stage 1 of 2" in drawn
    assert "6 m 12 s  tools 31  84 k tok  “Reading session.py \\x1b[2J”" in drawn
    assert "\x1b" not in drawn
    town.complete(*stages[0], *stages[1])
    assert scene(town).groups == []


def test_a_run_that_reports_failure_is_not_shown_as_a_success(town: Shop) -> None:
    good, bad, _ = town.group(3)
    for run, status in ((good, "success"), (bad, "failure")):
        town.start(run)
        town.board.executions.report(run.id, Report(status, "said so", town.kit.clock()))  # type: ignore[arg-type]
    drawn = text(town)
    assert drawn.count("✓ coder      resultReported") == 1
    assert drawn.count("✕ coder      resultReported") == 1


def test_today_is_counted_from_midnight(town: Shop) -> None:
    good, bad = town.group(2)
    town.start(good)
    town.start(bad)
    town.kit.clock.advance(seconds=90)
    town.complete(good)
    town.fail(bad)
    task = town.move(town.task("Sell shoes"), "in_progress", "done")
    done = scene(town).done
    assert (done.succeeded, done.failed, done.median_ms) == (1, 1, 90_000)
    assert [it.id for it in done.tasks] == [task.number]
    assert "runs 1 ✓ 1 ✕  median 1 m 30 s  tasks 1" in text(town)
    tomorrow = look(town.board, None, town.kit.clock() + timedelta(hours=1)).done
    assert (tomorrow.succeeded, tomorrow.failed, tomorrow.tasks) == (0, 0, [])


def test_one_project_can_be_watched_alone(town: Shop) -> None:
    other = town.board.projects.add("other", "/srv/other")
    town.move(town.task("Sell shoes"), "in_progress", "blocked")
    town.group(1)
    assert scene(town).working
    alone = look(town.board, other.id, TODAY)
    assert (alone.needs_you, alone.groups, alone.runs) == ([], [], [])


def test_everything_is_said_in_japanese_as_well(town: Shop) -> None:
    town.move(town.task("靴を売る"), "in_progress", "blocked")
    drawn = "\n".join(line.text for line in lines(scene(town), town.kit.clock(), "ja"))
    assert "要対応 (1)" in drawn
    assert "Nobody" not in drawn


@pytest.mark.parametrize(
    ("seconds", "read"),
    [(0, "0 s"), (59.9, "59 s"), (270, "4 m 30 s"), (3_600, "1 h 00 m"), (90_000, "1 d 1 h"), (-5, "0 s")],
)
def test_durations_are_read_as_people_say_them(seconds: float, read: str) -> None:
    assert length(seconds) == read


@pytest.mark.parametrize(
    ("number", "read"),
    [(0, "0"), (999, "999"), (1_234, "1.23 k"), (84_000, "84 k"), (999_900, "1 M"), (3_100_000, "3.1 M")],
)
def test_counts_are_short(number: int, read: str) -> None:
    assert short(number) == read


# The program itself.


class Watched:
    """A home with a project, and `kumi status --watch` running in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.board: Board = open_board(load(Flags(), os.environ, folder))
        self.place = Place(self.board.projects.list()[0].id)

    def block(self, title: str) -> None:
        task = self.board.tasks.create(self.place, NewTask(title, assignee="coder")).task
        for status in ("in_progress", "blocked"):
            self.board.tasks.update(self.place, task.id, status=status)

    def start(self, *words: str, **how: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "kumihimo", "status", "--watch", *words]
        return subprocess.Popen(command, cwd=self.folder, text=True, **how)  # type: ignore[call-overload]


@pytest.fixture
def watched(kumi: Kumi, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setenv("KUMI_DB", database)
    with mock.patch("kumihimo.services.passkeys.hash_of", return_value="none"):
        assert kumi("init").code == 0
    made = Watched(tmp_path / "shop")
    yield made
    made.board.store.close()


def lines_until(process: subprocess.Popen[str], found: Callable[[str], bool]) -> list[str]:
    """The lines that it prints, up to one that is looked for. A watchdog ends what does not come."""
    import threading

    watchdog = threading.Timer(BOUND_SECONDS, process.kill)
    watchdog.start()
    seen: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            seen.append(line)
            if found(line):
                return seen
    finally:
        watchdog.cancel()
    raise AssertionError(f"it did not come: {seen}")


def test_what_did_not_change_is_not_printed_again(town: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    from kumihimo.surfaces.cli.status import printing

    run = town.start(town.group(1)[0])
    every = printing(lambda _: "every change", lambda scene: scene)
    outlines = printing(lambda _: "outline", lambda scene: scene.outline)
    for words in ("Reading", "Reading", "Writing"):
        town.board.executions.observe([Observation(run.id, last_message=words, tool_calls=1)])
        town.kit.clock.advance(seconds=1)
        every(scene(town))
        outlines(scene(town))
    assert capsys.readouterr().out.splitlines() == ["every change", "outline", "every change"]


def test_into_a_pipe_a_block_is_printed_on_each_change(watched: Watched) -> None:
    with watched.start(stdout=subprocess.PIPE) as process:
        first = lines_until(process, lambda line: line.startswith("DONE TODAY"))
        assert first[0].startswith("── 20")
        assert "NEEDS YOU (0)\n" in first
        watched.block("No key for the till")
        second = lines_until(process, lambda line: "No key for the till" in line)
        assert "NEEDS YOU (1)\n" in second
        process.send_signal(signal.SIGINT)
        assert process.wait(BOUND_SECONDS) == 0


def test_as_json_each_change_is_one_object(watched: Watched) -> None:
    with watched.start("--json", stdout=subprocess.PIPE) as process:
        (line,) = lines_until(process, lambda _: True)
        assert json.loads(line) == {
            "needsYou": [],
            "groups": [],
            "runs": [],
            "done": {"succeeded": 0, "failed": 0, "medianMs": None, "tasks": []},
        }
        watched.block("No key")
        last = lines_until(process, lambda line: bool(json.loads(line)["needsYou"]))[-1]
        assert json.loads(last)["needsYou"][0]["title"] == "No key"
        process.send_signal(signal.SIGINT)
        assert process.wait(BOUND_SECONDS) == 0


class Screen:
    """The other side of a terminal of 100 columns and 30 rows."""

    def __init__(self) -> None:
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.before = termios.tcgetattr(self.theirs)
        os.set_blocking(self.ours, False)
        self.seen = b""

    def shows(self, words: str) -> bool:
        with contextlib.suppress(BlockingIOError):
            self.seen += os.read(self.ours, 65536)
        return words in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.seen.decode("utf-8", "replace"))

    def close(self) -> None:
        os.close(self.ours)
        os.close(self.theirs)


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen()
    yield made
    made.close()


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_on_a_terminal_it_is_drawn_as_it_goes_on_until_q_or_control_c(
    watched: Watched, screen: Screen, key: bytes
) -> None:
    def own_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    environment = {**os.environ, "TERM": "xterm-256color"}
    streams = {"stdin": screen.theirs, "stdout": screen.theirs, "stderr": screen.theirs}
    with watched.start(**streams, env=environment, preexec_fn=own_terminal) as process:
        until(lambda: screen.shows("Nothing needs you."))
        watched.block("No key for the till")
        until(lambda: screen.shows("No key for the till"))
        os.write(screen.ours, key)
        # What it still has to say must be taken from it, or it can't end.
        until(lambda: screen.shows("\0") or process.poll() is not None)
        assert process.wait(BOUND_SECONDS) == 0
    assert termios.tcgetattr(screen.theirs) == screen.before
    assert b"\x1b[?1049l" in screen.seen, "the terminal is given back"


def test_without_watch_it_is_as_it_was(shop: Kumi, home: Path) -> None:
    answer = shop("status", "--json").json
    assert {"url", "tokenFile", "pid", "liveRuns", "tasks"} <= set(answer)
    assert shop("status").code == 0
