"""The tools that agents use, seen by looking at what their streams have shown by now.

Streams tell which tools were called and how that ended, and not when. So a call is taken to have begun at the last look before
it was there, and ended at the first look at which it was answered.
"""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime

from msgspec import Struct

from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Observation


class ToolCall(Struct, frozen=True):
    """The call number `index` of a run; `ok` is None where nobody saw an answer."""

    run: Execution
    index: int
    tool: str
    ok: bool | None
    start: datetime
    end: datetime


class _Watched(Struct):
    run: Execution
    looked_at: datetime
    known: int
    """How many calls were seen before."""
    open: dict[int, tuple[str, datetime]]


class ToolCalls:
    def __init__(self) -> None:
        self._watched: dict[str, _Watched] = {}

    @property
    def runs(self) -> list[str]:
        return list(self._watched)

    def begin(self, run: Execution, at: datetime, known: int = 0) -> None:
        """Watch a run from now on. `known` calls were made before, and are not told."""
        self._watched.setdefault(run.id, _Watched(run, at, known, {}))

    def look(self, seen: Observation, now: datetime) -> Generator[ToolCall]:
        """The calls that are over since the last look."""
        watched = self._watched.get(seen.execution_id)
        if watched is not None:
            yield from _look(watched, seen, now)

    def end(self, run: Execution, seen: Observation, at: datetime) -> Generator[ToolCall]:
        """The run is over, and every call with it."""
        watched = self._watched.pop(run.id, None)
        if watched is not None:
            yield from _look(watched, seen, at)
            for index in sorted(watched.open):
                yield _over(watched, index, None, at)


def _look(watched: _Watched, seen: Observation, now: datetime) -> Generator[ToolCall]:
    first = seen.tool_calls - len(seen.recent_tools)
    for index, use in enumerate(seen.recent_tools, first):
        if index >= watched.known:
            watched.open[index] = (use.tool, watched.looked_at)
        if index in watched.open and use.ok is not None:
            yield _over(watched, index, use.ok, now)
    # What is not among the last ones any more has been overtaken by many others.
    for index in [index for index in watched.open if index < first]:
        yield _over(watched, index, None, now)
    watched.known = max(watched.known, seen.tool_calls)
    watched.looked_at = max(watched.looked_at, now)


def _over(watched: _Watched, index: int, ok: bool | None, now: datetime) -> ToolCall:
    tool, start = watched.open.pop(index)
    return ToolCall(watched.run, index, tool, ok, start, max(start, now))
