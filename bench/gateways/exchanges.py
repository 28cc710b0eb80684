"""What the gateways are asked: server-everything's `echo`, each time with another text, in the words of each gateway."""

from __future__ import annotations

import json
from typing import NamedTuple

from driving.messages import DISTINCT, call
from tables import percentile

TOOL = "echo"
PATIENCE_SECONDS = 30.0
"""How long an answer is waited for when the time of a round is over: a call that hangs is one that fails."""


class Exchange(NamedTuple):
    """A request and what its answer must hold: also an answer to somebody else's is no answer."""

    message: bytes
    expected: bytes


class Cell(NamedTuple):
    """What was seen in one round of one gateway."""

    per_second: float
    median_milliseconds: float
    late_milliseconds: float
    """99 of 100 were faster."""
    processor_microseconds: float
    """Of the gateway alone, for one call."""


def cell(times: list[float], seconds: float, processor_seconds: float) -> Cell:
    """From how long each call took, in milliseconds."""
    answered = len(times)
    return Cell(answered / seconds, percentile(times, 0.5), percentile(times, 0.99), processor_seconds * 1e6 / answered)


def plain() -> list[Exchange]:
    """As the server itself is asked."""
    return [_exchange(number, call(number, TOOL, {"message": _text(number)})) for number in _numbers()]


def through_hub_call(server: str) -> list[Exchange]:
    """By our `hub_call`."""
    return [
        _exchange(number, call(number, "hub_call", {"tool": f"{server}:{TOOL}", "params": {"message": _text(number)}}))
        for number in _numbers()
    ]


def exposed(server: str) -> list[Exchange]:
    """By the tool itself, as our hub shows it."""
    return [_exchange(number, call(number, f"{server}__{TOOL}", {"message": _text(number)})) for number in _numbers()]


def by_rest(server: str) -> list[Exchange]:
    """As mcp-hub has it: no JSON-RPC."""
    asked = {"server_name": server, "tool": TOOL}
    return [
        _exchange(number, json.dumps({**asked, "arguments": {"message": _text(number)}}).encode())
        for number in _numbers()
    ]


def require_expected(answer: bytes, expected: bytes) -> None:
    if expected not in answer or b'"isError":true' in answer or b'"error":{' in answer:
        raise RuntimeError(f"a call failed: {expected!r} is not in {answer[:600]!r}")


def _numbers() -> range:
    return range(1, DISTINCT + 1)


def _text(number: int) -> str:
    return f"call {number}."


def _exchange(number: int, message: bytes) -> Exchange:
    return Exchange(message, f"Echo: {_text(number)}".encode())
