"""Reports: what an agent says of its work, together with what was seen of it."""

from __future__ import annotations

import pytest

from tests.lead.shop import Lead, Shop, until

KEYS = {
    "agentId", "groupId", "role", "model", "status", "summary", "editedFiles", "createdFiles", "toolCallCount",
    "duration_ms", "timestamp",
}  # fmt: skip


@pytest.mark.parametrize("role", ["coder", "tester", "writer"])
def test_an_agent_reports_over_our_own_http_with_the_token_of_its_run(shop: Shop, lead: Lead, role: str) -> None:
    script = shop.script(f"reports-{role}").report_result(summary="Done well.", response="At length.")
    (run,) = lead.run(group := lead.group(), script, role=role)
    (done,) = lead.wait(run)["completed"]
    assert done["status"] == "resultReported"
    result = done["result"]
    assert set(result) == KEYS | {"response"}
    assert (result["agentId"], result["groupId"], result["role"]) == (run, group, role)
    assert (result["status"], result["summary"], result["response"]) == ("success", "Done well.", "At length.")
    assert result["timestamp"].endswith("Z")
    (state,) = lead.ended(run)
    assert (state["exitCode"], state["failureReason"]) == (0, None)


@pytest.mark.parametrize("status", ["success", "failure", "timeout", "cancelled"])
def test_every_status_is_kept_as_it_was_reported(shop: Shop, lead: Lead, status: str) -> None:
    (run,) = lead.run(lead.group(), shop.script().report_result(status, "So it went.", errorMessage="a reason"))
    lead.ended(run)
    state = lead.status(run)
    assert (state["status"], state["exitCode"]) == ("resultReported", 0)
    assert (state["result"]["status"], state["result"]["errorMessage"]) == (status, "a reason")


def test_files_that_were_told_and_files_that_were_seen_are_each_there_once(shop: Shop, lead: Lead) -> None:
    (shop.folder / "old.txt").write_text("old\n")
    script = shop.script().write("new.txt", "a").edit("old.txt", "old", "older").edit("new.txt", "a", "b")
    script.report_result(
        editedFiles=["old.txt", "new.txt", "./old.txt", "told-edited.txt"],
        createdFiles=[str(shop.folder / "new.txt"), "told-created.txt"],
    )
    (run,) = lead.run(lead.group(), script)
    lead.ended(run)
    state = lead.status(run)
    assert state["createdFiles"] == [str(shop.folder / "new.txt")]
    assert state["editedFiles"] == [str(shop.folder / "old.txt")]
    result = state["result"]
    assert [shop.folder / path for path in result["createdFiles"]] == [
        shop.folder / "new.txt", shop.folder / "told-created.txt",
    ]  # fmt: skip
    assert [shop.folder / path for path in result["editedFiles"]] == [
        shop.folder / "old.txt", shop.folder / "told-edited.txt",
    ]  # fmt: skip


def test_a_file_that_was_told_as_created_is_not_called_edited_by_what_was_seen(shop: Shop, lead: Lead) -> None:
    (shop.folder / "mine.txt").write_text("old\n")
    script = shop.script().edit("mine.txt", "old", "new").report_result(createdFiles=["mine.txt"])
    (run,) = lead.run(lead.group(), script)
    lead.ended(run)
    result = lead.status(run)["result"]
    assert [shop.folder / path for path in result["createdFiles"]] == [shop.folder / "mine.txt"]
    assert result["editedFiles"] == []


def test_what_is_counted_and_measured_stands_in_the_result(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    script = shop.script().tool("Read", file_path="a").tool("Read", file_path="b").report_result().wait(gate)
    (run,) = lead.run(lead.group(), script)
    lead.wait(run)
    until(lambda: lead.status(run)["result"]["toolCallCount"] == 3)
    reported = lead.status(run)["result"]["duration_ms"]
    gate.touch()
    (state,) = lead.ended(run)
    # Up to the report, not to the end.
    assert reported == state["result"]["duration_ms"] <= state["elapsed_ms"]


def test_anybody_with_the_tool_may_report_for_an_agent_that_has_ended(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), shop.script())
    lead.ended(run)
    assert lead.status(run)["status"] == "completed"
    lead.call("report_result", agentId=run, status="success", summary="It was good.")
    state = lead.status(run)
    assert (state["status"], state["result"]["summary"], state["exitCode"]) == ("resultReported", "It was good.", 0)


def test_an_agent_that_reported_success_and_then_broke_shows_both(shop: Shop, lead: Lead) -> None:
    (run,) = lead.run(lead.group(), shop.script().report_result(summary="Fine.").exit(3))
    (state,) = lead.ended(run)
    assert (state["status"], state["result"]["status"]) == ("resultReported", "success")
    assert (state["exitCode"], state["failureReason"]) == (3, "exited")


def test_an_agent_may_not_report_for_another(shop: Shop, lead: Lead) -> None:
    gate = shop.gate()
    (other,) = lead.run(lead.group(), shop.script("innocent").wait(gate))
    until(lambda: shop.records("start", "innocent"))
    script = shop.script("liar").mcp("report_result", agentId=other, status="failure", summary="Not mine.")
    (run,) = lead.run(lead.group(), script)
    lead.ended(run)
    (said,) = shop.records("mcp", "liar")
    assert said["ok"] is False
    assert lead.status(other)["result"] is None
    gate.touch()
    lead.wait(other)
