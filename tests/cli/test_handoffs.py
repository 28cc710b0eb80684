"""`kumi handoff create`, by hand and from a run."""

from __future__ import annotations

from tests.cli.conftest import Kumi


def test_a_handoff_is_made_from_a_session_that_ended_badly(shop: Kumi) -> None:
    shop("task", "add", "Build the page", "--assignee", "coder")
    started = shop("session", "start", 1, "--json").json
    shop("context", "save", 1, "--progress", "half", "--next-steps", "the rest")
    shop("session", "end", started["id"], "--exit-code", 137, "--signal", "SIGKILL")
    made = shop("handoff", "create", 1, "--from-run", started["executionId"], "--to", "reviewer", "--json")
    assert made.code == 0, made.err
    handoff = made.json
    assert (handoff["task"], handoff["fromAgent"], handoff["toAgent"]) == (1, "coder", "reviewer")
    assert "failed (signalled, SIGKILL)" in handoff["summary"]
    assert "Progress: half" in handoff["context"]
    assert handoff["nextSteps"] == ["the rest"]
    assert handoff["warnings"] == ["It did not end by itself: failed (signalled, SIGKILL)."]
    assert [each["id"] for each in shop("handoff", "ls", "--agent", "reviewer", "--json").json["handoffs"]] == [
        handoff["id"]
    ]
    own = shop("handoff", "create", 1, "--from-run", started["executionId"], "--summary", "My words", "--json").json
    assert (own["summary"], own["toAgent"]) == ("My words", None)


def test_without_a_run_a_giver_and_a_summary_are_needed(shop: Kumi) -> None:
    shop("task", "add", "Build the page", "--assignee", "coder")
    nobody = shop("handoff", "create", 1, "--summary", "x")
    assert (nobody.code, "from" in nobody.err) == (2, True)
    silent = shop("handoff", "create", 1, "--from", "coder")
    assert (silent.code, "summary" in silent.err) == (2, True)
    assert shop("handoff", "create", 1, "--from", "coder", "--summary", "x").code == 0
    assert shop("handoff", "create", 1, "--from-run", "exec_nothing").code == 5
    assert len(shop("handoff", "ls", "--json").json["handoffs"]) == 1
