"""The messages that every server is driven with, encoded beforehand so that the driver costs the same for all."""

from __future__ import annotations

import json
from typing import Any

REVISION = "2025-11-25"
DISTINCT = 2000
"""How many ids there are before they come again; always more than are in flight."""

INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    }
).encode()
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
LIST_TOOLS = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


def call(number: int, tool: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


def require_good(answer: bytes) -> None:
    """A refusal is fast too: it must not be counted."""
    if b'"isError":true' in answer or b'"error":{' in answer or b'"result":' not in answer:
        raise RuntimeError(f"not an answer to measure: {answer[:400]!r}")
