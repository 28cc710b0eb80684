"""A client that goes to another door with each call notices nothing: sessions, calls without one, waits, and the feed."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.doors.house import Entrance, Session, Visitor
from tests.live.watcher import Watcher
from tests.mcp.http_door import stateless_request

CALLS = 8


def titles(answer: Any) -> list[str]:
    told = json.loads(answer["result"]["content"][0]["text"])
    return [task["title"] for task in told["tasks"]]


def test_a_session_that_one_door_began_goes_on_at_every_other(doors: list[Entrance]) -> None:
    one = doors[0]
    session = Session(one, one.token, "/mcp/editor?project=project")
    for n in range(CALLS):
        session.call(doors[n % 2], "task_create", title=f"task {n}")
        seen = titles(session.call(doors[(n + 1) % 2], "task_list"))
        assert sorted(seen) == [f"task {m}" for m in range(n + 1)]
    assert session.tools(doors[1]) == session.tools(doors[0])


def test_calls_of_the_stateless_revision_go_to_any_door(doors: list[Entrance]) -> None:
    token = doors[1].token
    for n in range(CALLS):
        for door, tool, arguments in (
            (doors[n % 2], "task_create", {"title": f"task {n}"}),
            (doors[(n + 1) % 2], "task_list", {}),
        ):
            body, headers = stateless_request("tools/call", {"name": tool, "arguments": arguments})
            answer = door.ask("POST", "/mcp/editor?project=project", token, body, **headers, **{"mcp-name": tool})
            assert answer.status == 200, answer.body
        assert len(titles(json.loads(answer.body))) == n + 1


def test_the_api_is_one_whichever_door_is_asked(doors: list[Entrance]) -> None:
    visitor = Visitor(doors, doors[0].token)
    for n in range(CALLS):
        visitor.api("group/create", description=f"group {n}")
        found = visitor.api("group/list")
        assert len(found["groups"]) == n + 1


def test_a_run_that_one_door_was_asked_for_is_waited_for_and_read_at_another(doors: list[Entrance]) -> None:
    home = doors[0].home
    visitor = Visitor(doors, doors[1].token)
    gate = home.folder / "gate"
    (run,) = home.run(home.script("waited").wait(gate).say("I am done."))
    home.until_records("start", 1)
    gate.touch()
    for _ in doors:
        waited = visitor.api("run/wait", runs=[run.id])
        assert [it["agentId"] for it in waited["completed"]] == [run.id]
    for _ in doors:
        assert any("I am done." in line for line in visitor.api("run/output", run=run.id)["lines"])


def test_who_watches_goes_on_at_another_door_and_misses_nothing(doors: list[Entrance]) -> None:
    one, two = doors

    def watch(door: Entrance, cursor: str | None = None) -> Watcher:
        headers = {"authorization": f"Bearer {one.token}"}
        return Watcher(door.home.running(), door.home.place, cursor, **headers)

    visitor = Visitor(doors, one.token)
    with watch(one) as watcher:
        cursor = watcher.until_type("snapshot")["cursor"]
    for n in range(CALLS):
        visitor.api("group/create", description=f"group {n}")
    heard: list[str] = []
    while len(heard) < CALLS:
        # One message at each door: cut off in every place there is.
        with watch((one, two)[len(heard) % 2], cursor) as piece:
            message = piece.until_type("group:created")
        cursor = message["cursor"]
        heard.append(message["data"]["groupId"])
    assert set(Counter(heard).values()) == {1}
    assert len(set(heard)) == CALLS
