"""From the log to spans: which there are, how they hang together, and that they are told once."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from datetime import timedelta
from unittest import mock

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace.status import StatusCode

from kumihimo.domain.execution import Report
from kumihimo.domain.hub_call import HubCall
from kumihimo.domain.observation import Observation, ToolUse, Usage
from kumihimo.domain.trace import span_id, trace_id, traceparent
from kumihimo.settings import LogSection
from kumihimo.surfaces.host.journal import Journal
from kumihimo.surfaces.telemetry.tracer import Tracer
from kumihimo.testing.boards import BoardKit
from tests.notices.conftest import Shop

HOST = "host"


class Watched:
    """A shop whose log is read by a tracer up to now, whenever somebody asks for the spans."""

    def __init__(self, shop: Shop, exporter: SpanExporter) -> None:
        self.shop = shop
        self.exporter = exporter
        self.said = io.StringIO()
        self.tracer = Tracer(exporter, HOST, "here", Journal(LogSection(), self.said))
        self.cursor = shop.board.store.newest_cursor()
        self.tracer.open(shop.board)

    def read(self) -> bool:
        for event in self.shop.board.store.events_after(self.cursor, 10_000):
            self.tracer.read(event, threading.Event())
            self.cursor = event.cursor
        return self.tracer.flush()

    def spans(self) -> dict[str, ReadableSpan]:
        self.read()
        assert isinstance(self.exporter, InMemorySpanExporter)
        found = self.exporter.get_finished_spans()
        assert len({span.context.span_id for span in found if span.context}) == len(found), "each is told once"
        return {span.name: span for span in found}

    def show(self, run_id: str, tool_calls: int, *uses: ToolUse, **more: object) -> None:
        seen = Observation(run_id, tool_calls=tool_calls, recent_tools=uses, **more)  # type: ignore[arg-type]
        self.shop.board.executions.observe([seen])
        self.shop.kit.clock.advance(seconds=1)


@pytest.fixture
def shop(kit: BoardKit) -> Shop:
    with mock.patch("kumihimo.services.passkeys.hash_of", return_value="none"):
        made = kit.board.projects.init("/srv/shop", git=True)
    return Shop(kit, made.project, next(agent for agent in made.agents if agent.name == "coder"))


@pytest.fixture
def watched(shop: Shop) -> Iterator[Watched]:
    made = Watched(shop, InMemorySpanExporter())
    yield made
    made.tracer.close()


def nanoseconds(span: ReadableSpan) -> int:
    assert span.start_time is not None
    assert span.end_time is not None
    return span.end_time - span.start_time


def test_a_group_is_a_trace_and_its_runs_are_spans_below_it(watched: Watched) -> None:
    shop = watched.shop
    good, bad = shop.group(2, "Build it")
    shop.kit.clock.advance(seconds=2)
    shop.start(good)
    shop.start(bad)
    shop.board.executions.observe([Observation(good.id, tool_calls=3, usage=Usage(100, 20, 0.5), model="m-1")])
    shop.kit.clock.advance(seconds=10)
    shop.complete(good)
    assert set(watched.spans()) == {"run coder"}
    shop.fail(bad, exit_code=3, error="no such file")
    watched.read()
    assert isinstance(watched.exporter, InMemorySpanExporter)
    first, second, group = watched.exporter.get_finished_spans()
    assert group.name == "group Build it"
    assert group.context is not None
    assert (group.parent, nanoseconds(group)) == (None, 12 * 10**9)
    assert (group.status.status_code, group.status.description) == (StatusCode.ERROR, "1 of 2 runs did not succeed")
    for span, run in ((first, good), (second, bad)):
        assert span.context is not None
        assert span.context.trace_id == group.context.trace_id == trace_id(run.id, run.group_id)
        assert span.context.span_id == span_id(run.id)
        assert span.parent is not None
        assert span.parent.span_id == group.context.span_id
        assert nanoseconds(span) == 10 * 10**9
    told = dict(first.attributes or {})
    assert told["gen_ai.agent.name"] == "coder"
    assert told["gen_ai.usage.input_tokens"] == 100
    assert told["gen_ai.response.model"] == "m-1"
    assert told["kumihimo.cost_usd"] == 0.5
    assert told["kumihimo.run.tool_calls"] == 3
    assert told["kumihimo.run.queued_ms"] == 2_000
    assert (second.status.status_code, second.status.description) == (StatusCode.ERROR, "no such file (exit code 3)")
    assert first.resource.attributes["service.name"] == "kumihimo"


def test_a_group_that_is_given_more_keeps_its_trace_and_is_told_once(watched: Watched) -> None:
    first = watched.shop.group(1)
    watched.shop.complete(*first)
    watched.read()
    second = watched.shop.more(first[0].group_id or "", 1)
    watched.shop.complete(*second)
    watched.read()
    assert isinstance(watched.exporter, InMemorySpanExporter)
    spans = watched.exporter.get_finished_spans()
    assert sorted(span.name for span in spans) == ["group Build it", "run coder", "run coder"]
    assert len({span.context.trace_id for span in spans if span.context}) == 1


def test_a_group_ends_with_the_last_process_and_not_with_the_last_report(watched: Watched) -> None:
    (run,) = watched.shop.group(1)
    watched.shop.start(run)
    watched.shop.board.executions.report(run.id, Report("success", "done", watched.shop.kit.clock()))
    assert watched.spans() == {}
    watched.shop.complete(run)
    assert set(watched.spans()) == {"run coder", "group Build it"}


def test_a_run_outside_of_groups_is_a_trace_of_its_own(watched: Watched) -> None:
    task = watched.shop.move(watched.shop.task(), "in_progress")
    run = watched.shop.worker(task)
    watched.shop.complete(run)
    span = watched.spans()["run coder"]
    assert span.parent is None
    assert span.context is not None
    assert traceparent(run.id, None) == f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01"
    assert (span.attributes or {})["kumihimo.task.id"] == task.id


def test_calls_through_the_hub_are_spans_of_the_run_that_made_them(watched: Watched) -> None:
    (run,) = watched.shop.group(1)
    watched.shop.start(run)
    now = watched.shop.kit.clock.advance(seconds=5)
    facts = {"at": now, "attempts": 2, "cached": False, "sent_bytes": 1, "received_bytes": 2}
    call = HubCall("hub_1", None, run.id, "github", "issue", duration_ms=250.5, outcome="TIMEOUT", **facts)  # type: ignore[arg-type]
    nobodys = HubCall("hub_2", None, None, "github", "issue", duration_ms=1, outcome="ok", **facts)  # type: ignore[arg-type]
    watched.shop.board.hub_calls.keep([("coder", call), ("owner", nobodys)])
    (span,) = watched.spans().values()
    assert span.name == "hub github:issue"
    assert span.parent is not None
    assert span.parent.span_id == span_id(run.id)
    assert nanoseconds(span) == 250_500_000
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "TIMEOUT")


def test_tools_that_streams_show_are_spans_between_the_looks_that_saw_them(watched: Watched) -> None:
    (run,) = watched.shop.group(1)
    watched.shop.start(run)
    watched.read()
    watched.show(run.id, 1, ToolUse("Bash", "{}"))
    watched.read()
    assert watched.spans() == {}, "it goes on"
    watched.show(run.id, 2, ToolUse("Bash", "{}", True), ToolUse("Read", "secret", False))
    watched.shop.kit.clock.advance(seconds=3)
    spans = watched.spans()
    assert set(spans) == {"tool Bash", "tool Read"}
    assert nanoseconds(spans["tool Bash"]) == 5 * 10**9
    assert spans["tool Read"].status.status_code is StatusCode.ERROR
    assert "secret" not in spans["tool Read"].to_json()
    watched.show(run.id, 3, ToolUse("Bash", "{}", True), ToolUse("Read", "", False), ToolUse("Edit", ""))
    watched.shop.complete(run)
    spans = watched.spans()
    assert set(spans) == {"tool Bash", "tool Read", "tool Edit", "run coder", "group Build it"}
    assert spans["tool Edit"].status.status_code is StatusCode.UNSET


def test_many_calls_between_two_looks_are_told_as_far_as_they_are_still_seen(watched: Watched) -> None:
    (run,) = watched.shop.group(1)
    watched.shop.start(run)
    watched.read()
    watched.show(run.id, 1, ToolUse("Bash"))
    watched.read()
    watched.show(run.id, 30, *(ToolUse(f"Tool{n}", "", True) for n in range(20, 30)))
    assert set(watched.spans()) == {"tool Bash", *(f"tool Tool{n}" for n in range(20, 30))}


def test_calls_from_before_are_not_told_by_who_begins_in_the_middle(shop: Shop) -> None:
    (run,) = shop.group(1)
    shop.start(run)
    shop.board.executions.observe([Observation(run.id, tool_calls=1, recent_tools=(ToolUse("Old", "", True),))])
    watched = Watched(shop, InMemorySpanExporter())
    watched.show(run.id, 2, ToolUse("Old", "", True), ToolUse("New", "", True))
    assert set(watched.spans()) == {"tool New"}


def test_runs_of_other_hosts_are_told_by_those(shop: Shop) -> None:
    watched = Watched(shop, InMemorySpanExporter())
    watched.tracer._host_id = "another"
    shop.complete(*shop.group(1))
    assert watched.spans() == {}


class Broken(SpanExporter):
    def __init__(self) -> None:
        self.tried = 0

    def export(self, spans: object) -> SpanExportResult:
        self.tried += 1
        return SpanExportResult.FAILURE


def test_what_cannot_be_delivered_is_kept_for_some_tries_and_then_given_up(shop: Shop) -> None:
    watched = Watched(shop, Broken())
    assert watched.read(), "nothing was read, so everything is settled"
    shop.complete(*shop.group(1))
    assert [watched.read() for _ in range(5)] == [False, False, False, False, True]
    assert "traces can't be delivered (spans=2)" in watched.said.getvalue()
    assert watched.read()


def test_ids_follow_from_ours_and_are_what_the_w3c_wants() -> None:
    parent = traceparent("exec_1", "grp-1")
    version, trace, span, flags = parent.split("-")
    assert (version, len(trace), len(span), flags) == ("00", 32, 16, "01")
    assert parent == traceparent("exec_1", "grp-1") != traceparent("exec_2", "grp-1")
    assert traceparent("exec_2", "grp-1").split("-")[1] == trace != traceparent("exec_1", None).split("-")[1]


def test_time_is_kept_to_the_microsecond(watched: Watched) -> None:
    (run,) = watched.shop.group(1)
    watched.shop.kit.clock.at += timedelta(microseconds=7)
    watched.shop.complete(run)
    start = watched.spans()["run coder"].start_time
    assert start is not None
    assert start % 10**9 == 7_000
