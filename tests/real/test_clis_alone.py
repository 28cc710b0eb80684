"""Each real CLI against the scripted model, started by the product's command line: this proves the model, the installation, and
that what we pass to a CLI and read from it is what that CLI takes and tells."""

from __future__ import annotations

import pytest

from kumihimo.engine.agents.client import Verdict
from tests.real.board import Board
from tests.real.model import Model
from tests.real.runs import Workshop, until

pytestmark = pytest.mark.real


def test_hello(workshop: Workshop, model: Model) -> None:
    run, verdict = workshop.run("Say hello. [[scenario:hello]]")

    assert verdict == Verdict()
    assert run.words == "Hello from the scripted model."
    assert run.session
    assert len(model.asked("hello")) == 1
    assert model.strangers == []


def test_a_file_is_made_and_another_is_changed(workshop: Workshop) -> None:
    (workshop.folder / "existing.txt").write_text("old line\n")

    run, verdict = workshop.run("Edit. [[scenario:edit]]")

    assert verdict == Verdict()
    assert (workshop.folder / "new.txt").read_text() == "a new file\n"
    assert (workshop.folder / "existing.txt").read_text() == "new line\n"
    assert run.changed == {"new.txt": True, "existing.txt": False}


def test_a_report_reaches_our_server_with_the_token_of_the_run(workshop: Workshop, board: Board) -> None:
    run, verdict = workshop.run("You are exec_0123456789ab. Report. [[scenario:report]]", door=board.url)

    assert verdict == Verdict()
    said = {"agentId": "exec_0123456789ab", "status": "success", "summary": "Reported by the scripted model."}
    assert board.reports == [said]
    assert [tool for tool in run.tools if tool.endswith("report_result")] != []
    assert board.refused == 0


def test_a_rate_limit_is_told_as_one(workshop: Workshop) -> None:
    _, verdict = workshop.run("[[scenario:rate_limit]]")

    assert verdict.reason == "rate_limited"


def test_a_key_that_is_refused_is_told_as_such(workshop: Workshop) -> None:
    _, verdict = workshop.run("[[scenario:auth]]")

    assert verdict.reason == "auth"


def test_a_conversation_goes_on_where_it_was(workshop: Workshop) -> None:
    first, _ = workshop.run("Keep in mind: the word is KUMQUAT. [[scenario:resume]]")

    second, verdict = workshop.run("Which word was it? [[scenario:resume]]", resume=first.session)

    assert first.words == "I will remember it."
    assert second.words == "I remember KUMQUAT."
    assert second.session == first.session
    assert verdict == Verdict()


def test_a_conversation_goes_on_where_it_was_with_our_server_too(workshop: Workshop, board: Board) -> None:
    first, _ = workshop.run("Keep in mind: the word is KUMQUAT. [[scenario:resume]]", door=board.url)

    second, _ = workshop.run("Which word was it? [[scenario:resume]]", door=board.url, resume=first.session)

    assert second.words == "I remember KUMQUAT."


def test_a_model_that_never_answers_is_waited_for_until_somebody_stops_it(workshop: Workshop, model: Model) -> None:
    run = workshop.begin("[[scenario:hang]]")
    until(lambda: model.asked("hang"))

    assert run.process.poll() is None
    run.stop()

    assert run.processes() == []


def test_a_long_command_runs_until_somebody_stops_it(workshop: Workshop) -> None:
    run = workshop.begin("[[scenario:long_shell]]")
    until(lambda: run.tools)

    assert run.process.poll() is None
    run.stop()

    assert run.processes() == []
    assert not run.words


def test_an_answer_comes_when_its_gate_is_opened(workshop: Workshop, model: Model) -> None:
    run = workshop.begin("[[scenario:gated]]")
    until(lambda: model.asked("gated"))
    assert run.words == ""

    model.gate("gate").set()

    assert run.wait() == Verdict()
    assert run.words == "The gate is open."
