"""Spans: a group is a trace, a run a span in it, a tool call a span in the run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from kumihimo import __version__
from kumihimo.domain.execution import Execution
from kumihimo.domain.group import Group
from kumihimo.domain.hub_call import HubCall
from kumihimo.domain.observation import Observation
from kumihimo.domain.token import strike_out_tokens
from kumihimo.domain.trace import span_id, trace_id
from kumihimo.services.settling import why
from kumihimo.surfaces.telemetry.tool_calls import ToolCall

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_NAME_LETTERS = 80
_REASON_LETTERS = 500
Value = str | int | float | bool | None


class Spans:
    """Every span has the ids that follow from ours: told twice, it is the same span."""

    def __init__(self, host_name: str) -> None:
        # What OpenTelemetry's own variables say wins.
        service = os.environ.get("OTEL_SERVICE_NAME") or "kumihimo"
        self._resource = Resource.create(
            {"service.name": service, "service.version": __version__, "host.name": host_name}
        )
        self._scope = InstrumentationScope("kumihimo", __version__)

    def group(self, group: Group, runs: Sequence[Execution], ended_at: datetime) -> ReadableSpan:
        bad = sum(not run.succeeded for run in runs)
        told = {
            "kumihimo.group.id": group.id,
            "kumihimo.group.mode": group.mode,
            "kumihimo.group.stages": group.stages,
            "kumihimo.group.runs": len(runs),
            "kumihimo.project.id": group.project_id,
        }
        first = min((run.queued_at for run in runs), default=group.created_at)
        status = (
            Status(StatusCode.ERROR, f"{bad} of {len(runs)} runs did not succeed") if bad else Status(StatusCode.OK)
        )
        name = f"group {strike_out_tokens(group.description)[:_NAME_LETTERS]}"
        trace = trace_id("", group.id)
        return self._span(name, trace, span_id(group.id), None, first, ended_at, told, status)

    def run(self, run: Execution, role: str, seen: Observation) -> ReadableSpan:
        start = run.started_at or run.queued_at
        told = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": role,
            "gen_ai.request.model": run.model,
            "gen_ai.response.model": seen.model,
            "gen_ai.usage.input_tokens": seen.usage.input_tokens,
            "gen_ai.usage.output_tokens": seen.usage.output_tokens,
            "kumihimo.cost_usd": seen.usage.cost_usd,
            "kumihimo.run.id": run.id,
            "kumihimo.run.client": run.client,
            "kumihimo.run.origin": run.origin,
            "kumihimo.run.status": run.status,
            "kumihimo.run.reported": run.report.status if run.report else None,
            "kumihimo.run.failure_reason": run.failure_reason,
            "kumihimo.run.exit_code": run.exit_code,
            "kumihimo.run.stage": run.stage,
            "kumihimo.run.tool_calls": seen.tool_calls,
            "kumihimo.run.queued_ms": int((start - run.queued_at) / timedelta(milliseconds=1)),
            "kumihimo.host.id": run.host_id,
            "kumihimo.group.id": run.group_id,
            "kumihimo.task.id": run.task_id,
            "kumihimo.project.id": run.project_id,
        }
        parent = span_id(run.group_id) if run.group_id else None
        trace = trace_id(run.id, run.group_id)
        return self._span(
            f"run {role}", trace, span_id(run.id), parent, start, run.ended_at or start, told, _outcome(run)
        )

    def hub_call(self, call: HubCall, run: Execution) -> ReadableSpan:
        told = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "kumihimo.hub.server": call.server,
            "kumihimo.hub.attempts": call.attempts,
            "kumihimo.hub.cached": call.cached,
            "kumihimo.hub.sent_bytes": call.sent_bytes,
            "kumihimo.hub.received_bytes": call.received_bytes,
            "kumihimo.hub.outcome": call.outcome,
            "kumihimo.run.id": run.id,
        }
        status = Status(StatusCode.OK) if call.outcome == "ok" else Status(StatusCode.ERROR, call.outcome)
        # It was noted when it was over.
        start = call.at - timedelta(milliseconds=call.duration_ms)
        name = f"hub {call.server}:{call.tool}" if call.server else f"hub {call.tool}"
        return self._below(run, name, call.id, start, call.at, told, status, SpanKind.CLIENT)

    def tool_call(self, call: ToolCall) -> ReadableSpan:
        """As seen in the stream of the agent: when it began and ended is known to within a look."""
        told = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "kumihimo.tool.seen_in_stream": True,
            "kumihimo.run.id": call.run.id,
        }
        statuses = {True: Status(StatusCode.OK), False: Status(StatusCode.ERROR, "the tool failed"), None: Status()}
        identifier = f"{call.run.id} tool {call.index}"
        return self._below(
            call.run, f"tool {call.tool}", identifier, call.start, call.end, told, statuses[call.ok], SpanKind.INTERNAL
        )

    def _below(
        self,
        run: Execution,
        name: str,
        identifier: str,
        start: datetime,
        end: datetime,
        told: Mapping[str, Value],
        status: Status,
        kind: SpanKind,
    ) -> ReadableSpan:
        trace = trace_id(run.id, run.group_id)
        return self._span(name, trace, span_id(identifier), span_id(run.id), start, end, told, status, kind)

    def _span(
        self,
        name: str,
        trace: int,
        span: int,
        parent: int | None,
        start: datetime,
        end: datetime,
        told: Mapping[str, Value],
        status: Status,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> ReadableSpan:
        return ReadableSpan(
            name=name,
            context=SpanContext(trace, span, is_remote=False, trace_flags=_SAMPLED),
            parent=SpanContext(trace, parent, is_remote=False, trace_flags=_SAMPLED) if parent else None,
            resource=self._resource,
            attributes={key: value for key, value in told.items() if value is not None},
            kind=kind,
            status=status,
            start_time=_nanoseconds(start),
            end_time=_nanoseconds(max(start, end)),
            instrumentation_scope=self._scope,
        )


def _outcome(run: Execution) -> Status:
    if run.succeeded:
        return Status(StatusCode.OK)
    if run.status == "cancelled":
        return Status()
    return Status(StatusCode.ERROR, strike_out_tokens(why(run))[:_REASON_LETTERS])


def _nanoseconds(moment: datetime) -> int:
    return (moment - _BEGINNING) // timedelta(microseconds=1) * 1_000
