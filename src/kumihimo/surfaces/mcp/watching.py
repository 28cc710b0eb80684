"""What changed on the board, as changes of resources: for clients that have subscribed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from kumihimo.domain.event import Event
from kumihimo.surfaces.mcp.door import Door
from kumihimo.wire.changes import Changes

LONGEST_SECONDS = 60.0


class _Facts(msgspec.Struct):
    """What a URI may be made of."""

    number: int | None = None
    name: str | None = None
    task_id: str | None = None


_decode = msgspec.json.Decoder(_Facts).decode


def resources_of(event: Event) -> list[str]:
    """The URIs under which the thing can be read, in every toolset."""
    facts = _decode(event.data)
    match event.noun:
        case "task":
            return [f"task://{event.subject}", f"task://{facts.number}"]
        case "agent":
            return [f"agent://{event.subject}", f"agent://{facts.name}"]
        case "project":
            return [f"project://{event.subject}"]
        case "context" | "handoff":
            return [f"{event.noun}://{facts.task_id}"]
        case "execution":
            return [f"execution://{event.subject}", f"executions://{facts.task_id}"]
        case "memory":
            return ["project://memory"]
        case "session":
            return ["session://current"]
        case _:
            return []


Watch = Callable[[Changes, Callable[[], None]], Coroutine[Any, Any, None]]


def watcher_with_hub(door: Door) -> Watch:
    """As `watcher`, and tells when there may be other tools behind the hub."""
    follow = watcher(door)

    async def watch(changes: Changes, ready: Callable[[], None]) -> None:
        import asyncio

        async with asyncio.TaskGroup() as together:
            together.create_task(door.hubs.watch(changes.tools))
            together.create_task(follow(changes, ready))

    return watch


def watcher(door: Door) -> Watch:
    """Follows the feed from now on."""

    async def watch(changes: Changes, ready: Callable[[], None]) -> None:
        cursor = await door.elsewhere(lambda board: board.store.newest_cursor())
        ready()
        while True:
            ring = door.alarm.next()
            events = await door.elsewhere(lambda board, cursor=cursor: board.store.events_after(cursor))
            for event in events:
                cursor = event.cursor
                for uri in resources_of(event):
                    changes.resource(uri)
            if events:
                ring.cancel()
            else:
                await door.alarm.wait(ring, LONGEST_SECONDS)

    return watch
