"""The tracer: a reader of the log that tells OpenTelemetry of everything that this host has run, once it is over."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta

import msgspec
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from kumihimo.domain.event import Event
from kumihimo.domain.execution import Execution
from kumihimo.domain.hub_call import KIND as HUB_CALL
from kumihimo.domain.hub_call import HubCall
from kumihimo.services.board import Board
from kumihimo.services.group_ends import ENDED, ends_of
from kumihimo.surfaces.host.journal import Journal
from kumihimo.surfaces.telemetry.spans import Spans
from kumihimo.surfaces.telemetry.tool_calls import ToolCalls

# How often the streams of agents are looked at.
_LOOK = timedelta(seconds=1)
# After so many tries in a row what could not be delivered is given up.
_TRIES = 5
_MOST_AT_ONCE = 512
_MOST_KNOWN = 1_024
_MOST_LIVE = 1_000

_decode_run = msgspec.json.Decoder(Execution).decode
_decode_call = msgspec.json.Decoder(HubCall).decode


class Tracer:
    """`host_id` is ours: other hosts on the same board tell of their own runs."""

    def __init__(self, exporter: SpanExporter, host_id: str, host_name: str, journal: Journal) -> None:
        self._exporter = exporter
        self._host_id = host_id
        self._journal = journal
        self._spans = Spans(host_name)
        self._waiting: list[ReadableSpan] = []
        self._tools = ToolCalls()
        self._known: dict[str, Execution] = {}
        self._failures = 0
        self._looked_at: datetime | None = None

    def open(self, board: Board) -> None:
        self._board = board
        now = board.clock()
        page = board.executions.list(statuses={"running"}, limit=_MOST_LIVE)
        for sight in board.executions.sights([run.id for run in page.items if self._ours(run)]):
            self._tools.begin(sight.execution, now, sight.seen.tool_calls)

    def read(self, event: Event, over: threading.Event) -> bool:  # noqa: ARG002 - nothing here takes long
        if event.kind == HUB_CALL:
            self._read_call(_decode_call(event.data))
        elif event.kind == "execution.started":
            run = _decode_run(event.data)
            if self._ours(run):
                self._tools.begin(run, event.at)
        elif event.kind in ENDED:
            run = _decode_run(event.data)
            if self._ours(run):
                self._read_end(event, run)
        return False

    def flush(self) -> bool:
        self._look_at_streams()
        while self._waiting:
            batch = self._waiting[:_MOST_AT_ONCE]
            if self._exporter.export(batch) != SpanExportResult.SUCCESS:
                self._failures += 1
                if self._failures < _TRIES:
                    return False
                self._journal.note("warning", "traces.given_up", "traces can't be delivered", spans=len(self._waiting))
                self._waiting.clear()
                return True
            self._failures = 0
            del self._waiting[: len(batch)]
        return True

    def close(self) -> None:
        self._exporter.shutdown()

    def _read_call(self, call: HubCall) -> None:
        run = self._run(call.execution_id) if call.execution_id else None
        if run is not None and self._ours(run):
            self._waiting.append(self._spans.hub_call(call, run))

    def _read_end(self, event: Event, run: Execution) -> None:
        sight = self._board.executions.sight(run.id)
        ended_at = run.ended_at or event.at
        self._waiting += map(self._spans.tool_call, self._tools.end(run, sight.seen, ended_at))
        self._waiting.append(self._spans.run(run, sight.role, sight.seen))
        if run.group_id is not None:
            self._read_group(event, run.group_id)

    def _read_group(self, event: Event, group_id: str) -> None:
        """Told at its first end: what it is given to do later is in the same trace, and a span can't be told anew."""
        ends = self._board.store.read(lambda transaction: ends_of(transaction, group_id, event.cursor, ENDED))
        if ends.cursors[:1] == [event.cursor]:
            group = self._board.groups.show(group_id)
            self._waiting.append(self._spans.group(group, ends.runs, event.at))

    def _look_at_streams(self) -> None:
        now = self._board.clock()
        if self._looked_at is not None and now - self._looked_at < _LOOK:
            return
        self._looked_at = now
        for sight in self._board.executions.sights(self._tools.runs):
            self._waiting += map(self._spans.tool_call, self._tools.look(sight.seen, now))

    def _run(self, execution_id: str) -> Execution:
        """Many calls are of the same run, whose group and host stay the same."""
        found = self._known.get(execution_id)
        if found is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[execution_id] = self._board.executions.show(execution_id)
        return found

    def _ours(self, run: Execution) -> bool:
        return run.host_id in (None, self._host_id)
