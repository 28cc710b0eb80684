"""A client that has subscribed hears of what others change."""

from __future__ import annotations

import msgspec

from kumihimo.services.projects import Place
from tests.mcp.town import Town


def test_a_subscriber_hears_of_a_change_by_another_process_and_of_nothing_else(town: Town) -> None:
    manager, task, other = town.client("manager"), town.task("watched"), town.task("not watched")
    manager.request("resources/subscribe", {"uri": f"task://{task.id}"})
    town.board.tasks.update(Place(), other.id, title="changed too")
    town.board.tasks.update(Place(), task.id, title="changed")
    assert manager.process.stdout
    message = msgspec.json.decode(manager.process.stdout.readline())
    assert (message["method"], message["params"]) == ("notifications/resources/updated", {"uri": f"task://{task.id}"})
    assert "changed" in manager.read(f"task://{task.id}")["text"]
    manager.request("resources/unsubscribe", {"uri": f"task://{task.id}"})
    assert manager.close() == 0


def test_the_decisions_of_a_project_can_be_watched(town: Town) -> None:
    editor = town.client("editor")
    editor.request("resources/subscribe", {"uri": "project://memory"})
    town.board.memories.add(Place(town.alpha.id), "linter", category="tooling", title="Ruff")
    assert editor.process.stdout
    assert msgspec.json.decode(editor.process.stdout.readline())["params"]["uri"] == "project://memory"
