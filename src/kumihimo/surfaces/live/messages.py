"""From the log of the board to the messages of `/ws`.

A message carries the cursor of its event: who comes back with it gets everything behind it. What may be folded into
something newer carries the cursor before its event, so that whoever is cut off in between is told again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from kumihimo.domain.context import ContextEntry
from kumihimo.domain.event import Event
from kumihimo.domain.group import Group
from kumihimo.domain.health import Health, HealthNews
from kumihimo.domain.host import HostNews
from kumihimo.domain.memory import Memory
from kumihimo.domain.session import Session
from kumihimo.operations.roles import Role
from kumihimo.services.board import Board
from kumihimo.services.definitions import defined
from kumihimo.services.panorama import Panorama
from kumihimo.services.sights import Sight
from kumihimo.settings import Settings
from kumihimo.toolsets.camel import contexts, groups, handoffs, memories, roles, runs, sessions, tasks

_ENDS = frozenset({"completed", "failed", "timed_out", "cancelled", "lost"})
_FIRST = frozenset({"planned", "queued"})
# News for nobody: a lease that goes on, a session that is used.
_QUIET = frozenset({"execution.renewed", "session.touched"})
Told = tuple[str, Any] | None


class Message(msgspec.Struct, frozen=True):
    type: str
    data: Any
    cursor: str


_encode = msgspec.json.Encoder().encode


def encoded(message: Message) -> bytes:
    return _encode(message)


def snapshot(seen: Panorama) -> Message:
    data = {
        "groups": [groups.group(group) for group in seen.groups],
        "agents": [runs.agent(sight) for sight in seen.runs],
        "tasks": [tasks.task(view) for view in seen.tasks],
    }
    return Message("snapshot", data, seen.cursor)


def updates(sights: Iterable[Sight], cursor: str) -> list[Message]:
    """How runs are by now."""
    return [Message("agent:status_update", runs.agent(sight), cursor) for sight in sights]


class Teller:
    """Tells some events, in their order, with what they are about as it is now."""

    def __init__(self, settings: Settings, board: Board, events: Sequence[Event]) -> None:
        self._settings = settings
        self._board = board
        self._events = events
        self._runs = board.watch.runs({event.subject for event in events if event.noun in ("execution", "evidence")})
        self._tasks = board.watch.tasks({event.subject for event in events if event.noun == "task"})
        self._handoffs = board.watch.handoffs({event.subject for event in events if event.noun == "handoff"})
        self._tellers: dict[str, Callable[[Event, str], Told]] = {
            "execution": self._execution,
            "group": self._group,
            "task": self._task,
            "context": self._context,
            "handoff": self._handoff,
            "memory": self._memory,
            "session": self._session,
            "agent": self._agent,
            "project": self._project,
            "health": self._health,
            "host": self._host,
        }

    def messages(self, before: str) -> list[tuple[str, Message]]:
        """Everything behind the cursor `before`, each with the cursor of the event that it is made of."""
        found: list[tuple[str, Message]] = []
        folded = self._newest_updates()
        for index, event in enumerate(self._events):
            update = folded.get(index)
            if update is not None:
                found.append((event.cursor, Message("agent:status_update", runs.agent(update), before)))
            told = self._told(event)
            if told is not None:
                found.append((event.cursor, Message(told[0], told[1], event.cursor)))
            before = event.cursor
        return found

    def _newest_updates(self) -> dict[int, Sight]:
        """For each run that has changed without being new or over: where it changed last."""
        last = {event.subject: index for index, event in enumerate(self._events) if _is_update(event)}
        return {index: self._runs[run] for run, index in last.items() if run in self._runs}

    def _told(self, event: Event) -> Told:
        if event.kind in _QUIET:
            return None
        tell = self._tellers.get(event.noun)
        return tell(event, event.kind.partition(".")[2]) if tell else None

    def _execution(self, event: Event, what: str) -> Told:
        sight = self._runs.get(event.subject)
        if sight is None or not _is_milestone(event):
            return None
        if what == "reported":
            return "agent:result_reported", runs.result(sight)
        return "agent:created" if what in _FIRST else "agent:completed", runs.agent(sight)

    def _group(self, event: Event, what: str) -> Told:
        group = _read(event, Group)
        if what == "deleted":
            return "group:deleted", {"groupId": group.id}
        if what == "stage_advanced":
            place = {"groupId": group.id, "stageIndex": group.stage, "totalStages": group.stages}
            return "group:stage_advanced", place
        return "group:created" if what == "created" else "group:updated", groups.group(group)

    def _task(self, event: Event, what: str) -> Told:
        view = self._tasks.get(event.subject)
        return (f"task:{what}", tasks.task(view)) if view else None

    def _context(self, event: Event, _: str) -> Told:
        return "task:context_added", contexts.context_entry(_read(event, ContextEntry))

    def _handoff(self, event: Event, what: str) -> Told:
        view = self._handoffs.get(event.subject)
        return (f"handoff:{what}", handoffs.handoff(view)) if view else None

    def _memory(self, event: Event, what: str) -> Told:
        return f"memory:{what}", memories.memory(_read(event, Memory))

    def _session(self, event: Event, what: str) -> Told:
        return f"session:{what}", sessions.session(_read(event, Session))

    def _agent(self, event: Event, _: str) -> Told:
        return "config:updated", {"role": self._role(event.subject)}

    def _project(self, event: Event, _: str) -> Told:
        return "config:updated", {"projectId": event.subject}

    def _health(self, event: Event, what: str) -> Told:
        news = _read(event, HealthNews)
        match what:
            case "started":
                return "healthcheck:role_start", {"roleId": news.role}
            case "checked":
                return "healthcheck:role_complete", {"roleId": news.role, "role": self._role(news.id)}
            case _:
                return "healthcheck:complete", {"roles": [roles.role(role) for role in self._roles()]}

    def _host(self, event: Event, _: str) -> Told:
        news = _read(event, HostNews)
        return "server:startup", {"hostId": news.id, "name": news.name, "url": news.url, "version": news.version}

    def _role(self, agent_id: str) -> roles.RoleAnswer:
        known = next((role for role in self._roles() if role.agent.id == agent_id), None)
        if known is None:
            known = Role(defined(self._board.agents.show(agent_id), self._settings), Health(agent_id))
        return roles.role(known)

    def _roles(self) -> list[Role]:
        return [Role(defined(agent, self._settings), health) for agent, health in self._board.hosts.health()]


def _is_milestone(event: Event) -> bool:
    """Whether an event of a run is told as such, and not only as how the run is now."""
    what = event.kind.removeprefix("execution.")
    return event.noun == "execution" and (what in _FIRST or what in _ENDS or what == "reported")


def _is_update(event: Event) -> bool:
    """Whether a run is otherwise than before. A report is both: told as such, and a new state."""
    if event.kind in _QUIET or event.noun not in ("execution", "evidence"):
        return False
    return not _is_milestone(event) or event.kind == "execution.reported"


def _read(event: Event, kind: type[Any]) -> Any:
    return msgspec.json.decode(event.data, type=kind)
