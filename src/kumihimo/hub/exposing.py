"""The names under which the tools of servers are listed as if they were ours: `server__tool`.

A name depends on nothing but the two it is made of, so it is the same in every process and beside any other tools. What
would be too long, or has signs that models are not allowed in names, ends with a few digits that keep it apart.
"""

from __future__ import annotations

import hashlib
import re

MOST = 64
_DIGITS = 8
_STRANGE = re.compile(r"[^A-Za-z0-9_-]")


def exposed_name(server: str, tool: str) -> str:
    plain = f"{server}__{tool}"
    clean = _STRANGE.sub("_", plain)
    # A server `a` with a tool `b__c`, and a server `a__b` with a tool `c`, would have one name.
    if clean == plain and len(plain) <= MOST and "__" not in server:
        return plain
    digits = hashlib.sha256(f"{server}:{tool}".encode()).hexdigest()[:_DIGITS]
    return f"{clean[: MOST - _DIGITS - 1]}_{digits}"
