"""A real host with a real receiver of OTLP: what an agent is handed, what a server behind the hub is handed, and what is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.hub.hub_kit import Scripted
from tests.lead.conftest import OpenShop, open_shop
from tests.lead.shop import until
from tests.notices.receiver import Receiver

__all__ = ["open_shop"]
# What OpenTelemetry's exporter loads and nobody else here does.
PROTOBUF = "google/_upb"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    made = Receiver()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{made.port}")
    yield made
    made.close()


class Told:
    """Everything that the collector was sent so far."""

    def __init__(self, collector: Receiver) -> None:
        self._collector = collector
        self.spans: dict[str, Span] = {}

    def __call__(self) -> dict[str, Span]:
        for post in self._collector.rest():
            assert post.path == "/v1/traces"
            sent = ExportTraceServiceRequest.FromString(post.body)
            self.spans |= {
                span.name: span
                for resource in sent.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            }
        return self.spans


@pytest.mark.slow
def test_a_group_is_one_trace_from_the_agent_to_the_server_behind_the_hub(
    open_shop: OpenShop, collector: Receiver, tmp_path: Path
) -> None:
    shop = open_shop()
    alpha = Scripted(tmp_path, "alpha", {"name": "look", "does": "meta"})
    (shop.folder / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": [alpha.config]}))
    lead = shop.lead()
    script = shop.script("caller", environment=["TRACEPARENT"]).mcp("hub_call", tool="alpha:look", params={})
    (run,) = lead.run(lead.group(), script.report_result(summary="Done."))
    lead.ended(run)
    told = Told(collector)
    spans = until(lambda: {"group A test", "run coder", "hub alpha:look"} <= set(told()) and told())
    group, own, call = spans["group A test"], spans["run coder"], spans["hub alpha:look"]
    assert group.trace_id == own.trace_id == call.trace_id
    assert (group.parent_span_id, own.parent_span_id, call.parent_span_id) == (b"", group.span_id, own.span_id)
    handed = f"00-{own.trace_id.hex()}-{own.span_id.hex()}-01"
    assert shop.records("start", "caller")[0]["environment"] == {"TRACEPARENT": handed}
    assert alpha.lines(f"traceparent {handed}") == 1
    assert group.start_time_unix_nano <= own.start_time_unix_nano <= call.start_time_unix_nano
    assert own.end_time_unix_nano <= group.end_time_unix_nano
    host = until(lambda: shop.host)
    assert PROTOBUF in Path(f"/proc/{host.process.pid}/maps").read_text(), "so that the next test can tell"


@pytest.mark.slow
def test_without_being_asked_for_nothing_is_handed_on_and_nothing_is_loaded(
    open_shop: OpenShop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "TRACEPARENT"):
        monkeypatch.delenv(name, raising=False)
    shop = open_shop()
    alpha = Scripted(tmp_path, "alpha", {"name": "look", "does": "meta"})
    (shop.folder / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": [alpha.config]}))
    lead = shop.lead()
    script = shop.script("caller", environment=["TRACEPARENT"]).mcp("hub_call", tool="alpha:look", params={})
    (run,) = lead.run(lead.group(), script.report_result(summary="Done."))
    lead.ended(run)
    assert shop.records("start", "caller")[0]["environment"] == {}
    assert alpha.lines("traceparent None") == 1
    host = until(lambda: shop.host)
    assert PROTOBUF not in Path(f"/proc/{host.process.pid}/maps").read_text()
    assert not (shop.home / "followers").exists()
    program = "import sys, kumihimo.surfaces.host.process, kumihimo.surfaces.host.followers; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in loaded if name.startswith("opentelemetry")] == []


def test_without_the_extra_it_is_said_and_nothing_else_is_hurt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import io

    from kumihimo.settings import Flags, LogSection, load
    from kumihimo.surfaces.host.journal import Journal
    from kumihimo.surfaces.telemetry.tracing import tracers

    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    (tmp_path / "config.toml").write_text("[telemetry]\ntraces = true\n")
    settings = load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path)
    assert settings.telemetry.traces
    said = io.StringIO()
    assert tracers(settings, "host", Journal(LogSection(), said)) == []
    assert "pip install 'kumihimo[otel]'" in said.getvalue()


@pytest.mark.parametrize(
    ("variables", "on"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_opentelemetrys_own_variables_switch_it_on_and_off(tmp_path: Path, variables: dict[str, str], on: bool) -> None:
    from kumihimo.settings import Flags, load

    assert load(Flags(), {"KUMI_HOME": str(tmp_path), **variables}, tmp_path).telemetry.traces is on
