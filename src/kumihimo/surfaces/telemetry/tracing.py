"""Whether traces are told, and to whom: by OTLP over HTTP, as OpenTelemetry's own variables have it."""

from __future__ import annotations

import os
import socket

from kumihimo.settings import Settings
from kumihimo.surfaces.host.follower import Follower
from kumihimo.surfaces.host.journal import Journal


def tracers(settings: Settings, host_id: str, journal: Journal) -> list[Follower]:
    """The follower that tells of traces; nobody where the extra is not installed, which is complained about."""
    if os.environ.get("OTEL_TRACES_EXPORTER") == "none":
        return []
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        from kumihimo.surfaces.telemetry.tracer import Tracer
    except ImportError as missing:
        told = "traces are on, and OpenTelemetry is not installed: pip install 'kumihimo[otel]'"
        journal.note("warning", "traces.off", told, missing=missing.name)
        return []
    return [
        Follower(
            settings, "traces", lambda: Tracer(OTLPSpanExporter(), host_id, socket.gethostname(), journal), journal
        )
    ]
