"""A handoff from a run whose agent was killed, as the next agent finds it."""

from __future__ import annotations

import os
import signal

import pytest

from kumihimo.services.projects import Place
from kumihimo.services.run_handoffs import create_from_run
from kumihimo.services.tasks import NewTask

from .home import Home
from .patience import until


@pytest.fixture
def home(either_home: Home) -> Home:
    return either_home


def test_what_a_killed_agent_has_left_is_handed_over(home: Home) -> None:
    here = Place(home.project.id)
    task = home.board.tasks.create(here, NewTask("Build the page")).task
    home.supervisor()
    gate = home.folder / "never"
    (run,) = home.run(home.script("giver").say("I have written half of the page.").wait(gate))
    (begun,) = home.until_records("start", 1)
    until(lambda: home.seen(run).last_message, "its words")
    living = create_from_run(home.board, here, run.id, task=task.number).handoff
    assert living.warnings == ("It has not ended: still at work.",)
    os.kill(begun["pid"], signal.SIGKILL)
    (ended,) = home.ended([run])
    assert ended.signal == "SIGKILL"
    handed = create_from_run(home.board, here, run.id, task=task.number, to_agent="claude-code")
    made = handed.handoff
    assert made.summary == (
        f"Made from the run {run.id} of codex (codex): failed (signalled, SIGKILL).\n\n"
        "It left no report. The last that it said: I have written half of the page."
    )
    assert made.warnings[0] == "It did not end by itself: failed (signalled, SIGKILL)."
    assert made.context is not None
    assert "I have written half of the page." in made.context[made.context.index("## The end of its log") :]
    assert f"- Folder: {home.project_folder}" in made.context
    assert home.board.handoffs.latest(here, task.id) == made


def test_a_supervisor_that_died_with_its_agent_keeps_nothing_from_being_handed_over(home: Home) -> None:
    here = Place(home.project.id)
    task = home.board.tasks.create(here, NewTask("Build the page")).task
    supervisor = home.supervisor()
    (run,) = home.run(home.script("giver").say("Half.").wait(home.folder / "never"))
    (begun,) = home.until_records("start", 1)
    until(lambda: home.seen(run).last_message, "its words")
    home.kill(supervisor)
    os.kill(begun["pid"], signal.SIGKILL)
    made = create_from_run(home.board, here, run.id, task=task.number).handoff
    assert made.warnings[0] == "It has not ended: still at work.", "nobody has looked yet"
    home.supervisor()
    home.ended([run])
    made = create_from_run(home.board, here, run.id, task=task.number).handoff
    assert "SIGKILL" in made.warnings[0]
