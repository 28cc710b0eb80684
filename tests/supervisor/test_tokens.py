"""The token of a run opens that run while it lives, and nothing afterwards."""

from __future__ import annotations

import http.client
import json
import os
import signal
from typing import Any

import pytest

from kumihimo.domain.execution import Execution

from .home import Home
from .patience import until

MODERN = "2026-07-28"


def call(home: Home, token: str, tool: str, **arguments: Any) -> tuple[int, Any]:
    """The HTTP status, and what the tool said where there was an answer."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    headers = {
        "authorization": f"Bearer {token}", "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": tool,
    }  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", home.running().port, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    connection.request("POST", "/mcp/worker", body, headers)
    answer = connection.getresponse()
    read = answer.read()
    connection.close()
    return answer.status, json.loads(read) if answer.status == 200 else None


def refused(answer: tuple[int, Any]) -> bool:
    status, said = answer
    return status == 401 or (status == 200 and ("error" in said or said["result"]["isError"]))


def report(run: Execution) -> dict[str, str]:
    return {"agentId": run.id, "status": "success", "summary": "I did it."}


def token_of(home: Home, name: str) -> str:
    (start,) = home.records("start", name)
    return start["environment"]["KUMI_RUN_TOKEN"]


def test_a_run_reports_on_itself_and_on_no_other(home: Home) -> None:
    home.up()
    gate = home.folder / "gate"
    scripts = [home.script(name).wait(gate).report_result(summary=f"{name} did it.") for name in ("one", "two")]
    one, two = home.run(*scripts)
    home.until_records("start", 2)
    assert refused(call(home, token_of(home, "one"), "report_result", **report(two)))
    assert home.show(two).report is None
    gate.touch()
    for run, name in zip(home.ended([one, two]), ("one", "two"), strict=True):
        assert run.status == "completed"
        assert run.report is not None
        assert run.report.summary == f"{name} did it."
        assert home.seen(run).tool_calls == 1


@pytest.mark.parametrize("how", ["completed", "cancelled", "lost"])
def test_the_token_of_a_run_that_is_over_changes_nothing(home: Home, how: str) -> None:
    home.up()
    gate = home.folder / "gate"
    (run,) = home.run(home.script("one").wait(gate))
    home.until_records("start", 1)
    match how:
        case "completed":
            gate.touch()
        case "cancelled":
            home.board.executions.stop(run.id)
        case _:
            wrapper = until(home.run_folder(run).wrapper, "the wrapper")
            os.kill(wrapper.pid, signal.SIGKILL)
    (ended,) = home.ended([run])
    assert ended.status == how
    before = home.board.store.newest_cursor()
    assert refused(call(home, token_of(home, "one"), "report_result", **report(run)))
    assert home.board.store.newest_cursor() == before
    assert home.show(run) == ended


def test_an_agent_reports_to_the_address_it_was_given_after_the_host_process_came_back(home: Home) -> None:
    home.kill(home.up())
    first = home.up()
    gate = home.folder / "gate"
    (run,) = home.run(home.script("one").wait(gate).report_result(seconds=60.0))
    home.until_records("start", 1)
    port = home.running().port
    home.kill(first)
    gate.touch()
    # As a door starts it: on the port that it had.
    home.spawn([*first.args[:-2]])  # type: ignore[misc,index]
    (ended,) = home.ended([run])
    assert home.running().port == port
    assert ended.report is not None
    assert (ended.status, ended.report.status) == ("completed", "success")
