"""A batch of calls through `hub_batch`, each of which takes its server a while: the batch takes hardly longer than one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from driving.messages import call
from exchanges import Exchange
from peers import OurHost
from tables import budget, median, percentile, show

CALLS = 32
EACH_MILLISECONDS = 100
ROUND_SECONDS = 1.0
ROUNDS = 5
MOST_MILLISECONDS = 150
_SCRIPT = Path(__file__).resolve().parent / "waiting_server.py"


def server() -> dict[str, Any]:
    """As our hub is told of it."""
    return {"name": "waiting", "command": sys.executable, "args": ["-I", "-S", str(_SCRIPT)]}


def run(host: OurHost) -> None:
    hub = host.at("/mcp/hub")
    one = Exchange(call(1, "hub_call", _wait(0)), b"waited 0.")
    calls = [_wait(number) for number in range(CALLS)]
    # The last answer; that all the others are there too is looked at once.
    batch = Exchange(call(2, "hub_batch", {"calls": calls, "maxParallel": CALLS}), f"waited {CALLS - 1}.".encode())
    answer = hub.ask(batch.message)
    if any(f"waited {number}.".encode() not in answer for number in range(CALLS)):
        raise RuntimeError(f"a call of a batch failed: {answer[:600]!r}")
    alone: list[float] = []
    together: list[float] = []
    for _ in range(ROUNDS):
        alone += hub.times([one], 1, ROUND_SECONDS)
        together += hub.times([batch], 1, ROUND_SECONDS)
    show(
        f"A batch: {CALLS} calls of {EACH_MILLISECONDS} ms each, maxParallel {CALLS}",
        ["what", "times", "median ms", "p90", "worst"],
        [
            [name, len(times), median(times), percentile(times, 0.9), max(times)]
            for name, times in (("one by `hub_call`", alone), (f"{CALLS} by `hub_batch`", together))
        ],
    )
    budget("a batch", median(together), MOST_MILLISECONDS, " ms")
    budget("the worst batch", max(together), MOST_MILLISECONDS, " ms")


def _wait(number: int) -> dict[str, Any]:
    return {"tool": "waiting:wait", "params": {"milliseconds": EACH_MILLISECONDS, "number": number}}
