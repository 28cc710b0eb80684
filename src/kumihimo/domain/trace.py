"""A trace: a group and all that happens in it, or a run that belongs to none. Ids follow from ours, so that whoever needs one
works it out: who starts an agent, who calls a server for it, and who tells of both when they are over."""

from __future__ import annotations

import hashlib


def trace_id(run_id: str, group_id: str | None) -> int:
    """Of 128 bits; never zero, which means none."""
    return _number(f"trace {group_id or run_id}", 16)


def span_id(identifier: str) -> int:
    """Of a group, a run or a call; 64 bits."""
    return _number(f"span {identifier}", 8)


def traceparent(run_id: str, group_id: str | None) -> str:
    """What a run hands on, in the form of the W3C: whatever goes on with it is below the run."""
    return f"00-{trace_id(run_id, group_id):032x}-{span_id(run_id):016x}-01"


def _number(text: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(f"kumihimo {text}".encode()).digest()[:size]) or 1
