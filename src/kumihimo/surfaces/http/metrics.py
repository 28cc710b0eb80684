"""`/metrics`: what goes on, as Prometheus reads it."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kumihimo import __version__
from kumihimo.hub.statistics import BUCKETS
from kumihimo.operations.catalogue import named
from kumihimo.operations.operation import Nothing
from kumihimo.surfaces.http.performing import perform

if TYPE_CHECKING:
    from kumihimo.hub.statistics import Counts
    from kumihimo.operations.operation import Caller
    from kumihimo.services.upkeep import Overview
    from kumihimo.surfaces.mcp.door import Door

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"
Sample = tuple[Mapping[str, str], float]


async def metrics(door: Door, caller: Caller) -> bytes:
    """The board as it is now, and what the hubs of this process have done since it began."""
    overview = await perform(door, named("board.status"), caller, Nothing())
    families = [*_board(overview), *_hub(door.hub_counts()), *_process()]
    return "".join(_family(*it) for it in families).encode()


def _board(overview: Overview) -> Iterable[tuple[str, str, str, list[Sample]]]:
    yield "kumihimo_info", "gauge", "Which version this is.", [({"version": __version__}, 1)]
    yield "kumihimo_projects", "gauge", "Projects on the board.", [({}, overview.projects)]
    yield "kumihimo_tasks", "gauge", "Tasks by status.", _by("status", overview.tasks)
    yield "kumihimo_runs", "gauge", "Runs that are queued, start, run or are planned.", _by("status", overview.runs)
    yield "kumihimo_slots", "gauge", "How many runs there may be at once here.", [({}, overview.slots)]
    yield "kumihimo_hosts", "gauge", "Homes that share the board, by state.", _by("state", overview.hosts)
    yield "kumihimo_live_sessions", "gauge", "Agents that are logged in.", [({}, overview.live_sessions)]


def _hub(counts: Mapping[str, Counts]) -> Iterable[tuple[str, str, str, list[Sample]]]:
    calls: list[Sample] = []
    durations: list[Sample] = []
    for server, it in counts.items():
        failed = sum(it.errors.values())
        calls += [({"server": server, "outcome": "ok"}, it.calls - failed)]
        calls += [({"server": server, "outcome": code}, number) for code, number in it.errors.items()]
        below = 0
        for bound, number in zip((*BUCKETS, float("inf")), it.durations, strict=True):
            below += number
            le = "+Inf" if bound == float("inf") else f"{bound / 1000:g}"
            durations.append(({"server": server, "le": le, "_": "bucket"}, below))
        durations += [
            ({"server": server, "_": "sum"}, it.milliseconds / 1000),
            ({"server": server, "_": "count"}, it.calls),
        ]
    yield "kumihimo_hub_calls_total", "counter", "Calls through the hub, by their outcome.", calls
    yield "kumihimo_hub_call_seconds", "histogram", "How long calls through the hub took.", durations
    yield (
        "kumihimo_hub_cached_total",
        "counter",
        "Calls that were answered from memory.",
        [({"server": server}, it.cached) for server, it in counts.items()],
    )
    yield (
        "kumihimo_hub_retries_total",
        "counter",
        "Calls that were sent again.",
        [({"server": server}, it.retries) for server, it in counts.items()],
    )


def _process() -> Iterable[tuple[str, str, str, list[Sample]]]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield (
        "process_cpu_seconds_total",
        "counter",
        "Processor time of this process.",
        [({}, used.ru_utime + used.ru_stime)],
    )
    pages = Path("/proc/self/statm")
    if pages.exists():
        resident = int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        yield "process_resident_memory_bytes", "gauge", "Memory of this process.", [({}, resident)]
        yield (
            "process_open_fds",
            "gauge",
            "Open files of this process.",
            [({}, len(list(Path("/proc/self/fd").iterdir())))],
        )


def _by(label: str, numbers: Mapping[str, Any]) -> list[Sample]:
    return [({label: name}, number) for name, number in numbers.items()]


def _family(name: str, kind: str, about: str, samples: list[Sample]) -> str:
    lines = [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        # `_` is the part of a histogram that a sample is of.
        part = f"_{labels['_']}" if "_" in labels else ""
        told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items() if key != "_")
        lines.append(f"{name}{part}{{{told}}} {value:g}" if told else f"{name}{part} {value:g}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
