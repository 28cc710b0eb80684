"""What a page asks for besides: a run as a conversation, its errors, search, history."""

from __future__ import annotations

import http.client
import json
from typing import Any

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from tests.live.conftest import Home


def ask(home: Home, path: str, **arguments: Any) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", home.running.port, timeout=60)
    token = (home.shop.home / "token").read_text().strip()
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    connection.request("POST", f"/api/v1/{path}", json.dumps(arguments), headers)
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, said
    return said


def test_a_run_is_read_as_a_conversation_page_by_page(home: Home) -> None:
    script = home.shop.script().say("First.").write("a.txt", "one\n").edit("a.txt", "one", "two").say("<b>Last.</b>")
    (run,) = home.lead.run(home.lead.group(), script)
    home.lead.ended(run)
    entries: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = ask(home, "run/conversation", run=run, cursor=cursor, limit=2)
        entries += page["entries"]
        cursor = page["nextCursor"]
        if page["done"]:
            break
    assert [entry["text"] for entry in entries if entry["kind"] == "said"] == ["First.", "<b>Last.</b>"]
    tools = [entry for entry in entries if entry["kind"] == "tool"]
    answers = {entry["call"]: entry["ok"] for entry in entries if entry["kind"] == "answer"}
    assert [answers[tool["call"]] for tool in tools] == [True, True]
    (change,) = tools[1]["changes"]
    assert (change["path"].rpartition("/")[2], change["before"], change["after"]) == ("a.txt", "one", "two")
    whole = ask(home, "run/conversation", run=run)
    assert whole["entries"] == entries


def test_what_a_run_complained_of_is_read_once_it_is_over(home: Home) -> None:
    gate = home.shop.gate()
    (run,) = home.lead.run(home.lead.group(), home.shop.script("w").errors("It hurts.\n").wait(gate))
    home.lead.call("wait_agent", agentIds=[run], timeout_ms=1)
    assert ask(home, "run/errors", run=run) == {"text": ""}
    gate.touch()
    home.lead.ended(run)
    assert "It hurts." in ask(home, "run/errors", run=run)["text"]


def test_search_finds_everything_by_its_words_or_its_name(home: Home) -> None:
    board, place = home.shop.board, Place(home.shop.project.id)
    task = board.tasks.create(place, NewTask("Polish the Kettle", description="100% shiny_ish")).task
    board.memories.add(place, "kettles", category="tooling", title="Kettles are black", summary="", content="pot")
    group = home.lead.call("create_group", description="A kettle group")["groupId"]
    (run,) = home.lead.run(group, {"prompt": home.shop.script().prompt() + " about the kettle"})
    found = {(hit["kind"], hit["id"]) for hit in ask(home, "board/search", query="KETTLE")["hits"]}
    assert found == {("task", task.id), ("memory", "kettles"), ("group", group), ("run", run)}
    assert [hit["id"] for hit in ask(home, "board/search", query=run)["hits"]] == [run]
    assert next(hit["kind"] for hit in ask(home, "board/search", query="coder")["hits"]) == "agent"
    assert [hit["id"] for hit in ask(home, "board/search", query="kettle polish")["hits"]] == [task.id]
    # What means something to the database means nothing to who searches.
    assert [hit["id"] for hit in ask(home, "board/search", query="100% shiny_ish")["hits"]] == [task.id]
    assert ask(home, "board/search", query="%")["hits"] == ask(home, "board/search", query="100%")["hits"]
    assert ask(home, "board/search", query="  ")["hits"] == []


def test_history_is_narrowed_by_role_project_and_time(home: Home) -> None:
    group = home.lead.group()
    (first,) = home.lead.run(group, home.shop.script(), role="coder")
    (second,) = home.lead.run(group, home.shop.script(), role="tester")
    home.lead.ended(first, second)

    def listed(**narrowed: Any) -> list[str]:
        return [agent["agentId"] for agent in ask(home, "run/list", **narrowed)["agents"]]

    asked_at = home.lead.status(second)["queuedAt"]
    assert listed(role="coder") == [first]
    assert listed(role="tester", group=group, status="completed") == [second]
    assert listed(since=asked_at) == [second]
    assert listed(until=asked_at) == [first]
    assert listed(project="shop") == [second, first]
