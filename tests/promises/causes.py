"""A reader of the feed that knows what must have come before what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from kumihimo.domain import execution, task
from kumihimo.domain.event import Event

Value = dict[str, Any]
_FIRST = {"created", "queued", "started", "added"}
# What a value points to, by noun: everything named must have been seen before.
_POINTS_TO: dict[str, dict[str, str]] = {
    "task": {"project_id": "project", "assignee_id": "agent", "parent_id": "task"},
    "context": {"project_id": "project", "task_id": "task", "agent_id": "agent"},
    "handoff": {"project_id": "project", "task_id": "task", "from_agent_id": "agent", "accepted_by": "agent"},
    "memory": {"project_id": "project"},
    "session": {"project_id": "project", "agent_id": "agent"},
    "execution": {"project_id": "project", "task_id": "task", "agent_id": "agent", "group_id": "group"},
}


class Causes:
    """Give it events in the order of the feed; `violations` says which came before what they rest on."""

    def __init__(self) -> None:
        self.board: dict[str, dict[str, Value]] = {}
        self.violations: list[str] = []
        self.cursors: list[str] = []
        self._rules: dict[str, Callable[[Event, Value, Value | None], None]] = {
            "task": self._task,
            "execution": self._execution,
            "handoff": self._handoff,
        }

    def see(self, event: Event) -> None:
        value: Value = msgspec.json.decode(event.data)
        before = self.board.get(event.noun, {}).get(event.subject)
        self.cursors.append(event.cursor)
        first = event.kind.partition(".")[2] in _FIRST and not (event.noun == "execution" and before)
        if first != (before is None):
            self._wrong(event, "has no beginning" if before is None else "begins twice")
        for field, noun in _POINTS_TO.get(event.noun, {}).items():
            if value.get(field) is not None and value[field] not in self.board.get(noun, {}):
                self._wrong(event, f"{field} {value[field]} has not been seen")
        for member in (*value.get("agent_ids", ()), *value.get("depends_on", ())):
            if member not in self.board.get("agent", {}) and member not in self.board.get("task", {}):
                self._wrong(event, f"{member} has not been seen")
        if event.noun in self._rules:
            self._rules[event.noun](event, value, before)
        self.board.setdefault(event.noun, {})[event.subject] = value

    def _task(self, event: Event, value: Value, before: Value | None) -> None:
        if before is None:
            return
        moved = value["status"] != before["status"]
        if moved and (before["status"], value["status"]) not in task.STATES.rows:
            self._wrong(event, f"went from {before['status']} to {value['status']}")
        if value["updated_at"] < before["created_at"]:
            self._wrong(event, "changed before it was created")
        tasks = self.board["task"]
        if moved and value["status"] == "in_progress":
            for other in value["depends_on"]:
                if tasks[other]["status"] != "done":
                    self._wrong(event, f"started before {other} was done")
        if moved and value["status"] == "done":
            for other in tasks.values():
                if other["parent_id"] == value["id"] and other["status"] not in task.ENDED:
                    self._wrong(event, f"done before its subtask {other['id']}")

    def _execution(self, event: Event, value: Value, before: Value | None) -> None:
        if before is None:
            return
        ways = {after for (state, _), after in execution.STATES.rows.items() if state == before["status"]}
        if value["status"] not in {*ways, before["status"]}:
            self._wrong(event, f"went from {before['status']} to {value['status']}")
        if value["fence"] < before["fence"]:
            self._wrong(event, f"its fence went from {before['fence']} to {value['fence']}")

    def _handoff(self, event: Event, value: Value, before: Value | None) -> None:
        if before is not None and before["accepted_at"] is not None:
            self._wrong(event, "was accepted twice")

    def _wrong(self, event: Event, what: str) -> None:
        self.violations.append(f"{event.cursor} {event.kind} of {event.subject}: {what}")
