"""MCP gateways: the hub beside fastmcp, mcp-proxy, mcp-hub and a bare one, in one run. `python bench/gateways/run.py`"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parent.parent))

import json

import batches
import connecting
import exchanges
import peers
from exchanges import Cell
from peers import OurHost, Peer, Town
from stdio_calls import DirectServer
from tables import at_least, budget, median, show

ROUNDS = 5
UPSTREAM_ROUNDS = 3
CELL_SECONDS = 1.0
WARM_SECONDS = 1.0
IN_FLIGHT = (1, 32)

DIRECT = "server-everything itself"
OURS = "kumi up: hub_call"
EXPOSED = "kumi up: everything__echo"
BARE = "bare gateway"
FASTMCP = f"fastmcp {peers.FASTMCP_VERSION}"
MCP_PROXY = f"mcp-proxy {peers.MCP_PROXY_VERSION}"
MCP_HUB = f"mcp-hub {peers.MCP_HUB_VERSION}"
MCP_PROXY_JS = f"mcp-proxy {peers.MCP_PROXY_JS_VERSION} (npm)"
SUPERGATEWAY = f"supergateway {peers.SUPERGATEWAY_VERSION}"

BARE_THEN = 3267
OURS_THEN = 2500
"""What is promised for a machine on which a bare gateway has so many."""

Measure = Callable[[int, float], Cell]
Cells = dict[tuple[str, int], Cell]


def rounds(title: str, measures: dict[str, Measure], how_many: int) -> Cells:
    """Everyone at every depth in turn, several times over; medians of what was seen."""
    for measure in measures.values():
        measure(IN_FLIGHT[-1], WARM_SECONDS)
    seen: dict[tuple[str, int], list[Cell]] = {(name, depth): [] for name in measures for depth in IN_FLIGHT}
    for _ in range(how_many):
        for depth in IN_FLIGHT:
            for name, measure in measures.items():
                seen[name, depth].append(measure(depth, CELL_SECONDS))
    found = {place: Cell(*map(median, zip(*cells, strict=True))) for place, cells in seen.items()}
    columns = [f"{what} @{depth}" for depth in IN_FLIGHT for what in ("calls/s", "p50 ms", "p99 ms", "processor us")]
    lines: list[list[Any]] = [
        [name, *(value for depth in IN_FLIGHT for value in found[name, depth])] for name in measures
    ]
    show(f"{title} (median of {how_many})", ["gateway", *columns], lines)
    return found


def measure_of(peer: Peer) -> Measure:
    return lambda depth, seconds: peer.gateway.measure(peer.calls, depth, seconds)


def calls_on_stdio(town: Town, host: OurHost, backend: list[str]) -> None:
    """Each gateway over HTTP, to a server that it has started."""
    plain = exchanges.plain()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(DirectServer(backend, town.environment, town.folder, quiet=True))
        measures: dict[str, Measure] = {
            DIRECT: lambda depth, seconds: server.measure(plain, depth, seconds),
            OURS: measure_of(host.by_hub_call("everything")),
            EXPOSED: measure_of(host.exposed("everything")),
        }
        for name, peer in {
            BARE: peers.bare(town, backend),
            FASTMCP: peers.fastmcp(town, json.dumps(peers.as_mcp_servers(backend))),
            MCP_PROXY: peers.mcp_proxy(town, backend),
            MCP_HUB: peers.mcp_hub(town, backend),
            MCP_PROXY_JS: peers.mcp_proxy_js(town, backend),
            SUPERGATEWAY: peers.supergateway(town, backend),
        }.items():
            measures[name] = measure_of(stack.enter_context(peer))
        found = rounds("Gateways over HTTP, to `echo` of server-everything on stdio", measures, ROUNDS)
    for name in (OURS, EXPOSED):
        _judge(name, found)


def _judge(name: str, found: Cells) -> None:
    speed = found[name, 32].per_second
    at_least(f"{name} @32, where a bare gateway has {BARE_THEN:,}", speed, OURS_THEN, " calls/s")
    at_least(
        f"{name} @32, of the bare gateway's here", speed / found[BARE, 32].per_second, round(OURS_THEN / BARE_THEN, 3)
    )
    for peer, least in ((FASTMCP, 5), (MCP_PROXY, 2), (MCP_HUB, 1.2)):
        at_least(f"{name} @32, of {peer}'s", speed / found[peer, 32].per_second, least)
    added = found[name, 1].median_milliseconds - found[DIRECT, 1].median_milliseconds
    budget(f"{name} @1, added to p50", added, 0.5, " ms")


def calls_over_http(town: Town, host: OurHost, upstream: Peer) -> None:
    """The same server on a port: whoever opens a session for each call pays for it."""
    url = f"http://127.0.0.1:{upstream.gateway.port}/mcp"
    with peers.fastmcp(town, url) as proxy:
        measures = {
            DIRECT: measure_of(upstream),
            OURS: measure_of(host.by_hub_call("upstream")),
            f"{FASTMCP}, by URL": measure_of(proxy),
        }
        found = rounds("Gateways over HTTP, to `echo` of server-everything over HTTP", measures, UPSTREAM_ROUNDS)
    ratios = {
        depth: found[OURS, depth].per_second / found[f"{FASTMCP}, by URL", depth].per_second for depth in IN_FLIGHT
    }
    at_least(f"{OURS} to a URL @32, of fastmcp's", ratios[32], 50)
    of_server = found[OURS, 32].per_second / found[DIRECT, 32].per_second
    print(f"  @1: {ratios[1]:.1f}x of fastmcp's; @32 {of_server:.2f}x of what the server itself does")


def run(folder: Path) -> None:
    town = peers.make_town(folder)
    backend = peers.everything("stdio")
    with contextlib.ExitStack() as stack:
        servers = [batches.server()]
        upstream: Peer | None = None
        if backend is not None:
            upstream = stack.enter_context(peers.everything_over_http(town))
            servers += [
                {"name": "everything", "command": backend[0], "args": backend[1:]},
                {"name": "upstream", "url": f"http://127.0.0.1:{upstream.gateway.port}/mcp"},
            ]
        host = stack.enter_context(peers.our_host(town, servers))
        if backend is not None and upstream is not None:
            calls_on_stdio(town, host, backend)
            calls_over_http(town, host, upstream)
        batches.run(host)
    connecting.run(folder)


def _stop(_: int, __: object) -> None:
    sys.exit("ended")


def main() -> None:
    # Whoever ends this ends everything that it has started.
    signal.signal(signal.SIGTERM, _stop)
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kumi-bench-") as folder:
        run(Path(folder))
    print(f"  (gateways: {time.monotonic() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
