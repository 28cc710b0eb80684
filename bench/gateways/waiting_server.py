"""A server on stdio with one tool, `wait`, which answers after so many milliseconds; any number of calls at once.

One thread and the standard library alone, so that what is measured is who calls it.
"""

import heapq
import json
import os
import select
import time
from typing import Any

NUMBER = {"type": "integer"}
SCHEMA = {"type": "object", "properties": {"milliseconds": NUMBER, "number": NUMBER}, "required": ["milliseconds"]}
GREETING: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "waiting", "version": "1"},
}


def answer(request: dict[str, Any]) -> tuple[float, bytes]:
    """When, and what."""
    method: str = request["method"]
    after = 0.0
    said: dict[str, Any] = {"error": {"code": -32601, "message": f"there is no {method}"}}
    if method == "initialize":
        said = {"result": GREETING}
    elif method == "tools/list":
        said = {"result": {"tools": [{"name": "wait", "inputSchema": SCHEMA}]}}
    elif method == "tools/call":
        given: dict[str, int] = request["params"]["arguments"]
        after = given["milliseconds"] / 1000
        said = {"result": {"content": [{"type": "text", "text": f"waited {given.get('number')}."}]}}
    text = json.dumps({"jsonrpc": "2.0", "id": request["id"], **said})
    return time.monotonic() + after, text.encode() + b"\n"


def main() -> None:
    due: list[tuple[float, bytes]] = []
    rest = b""
    while True:
        patience = max(0.0, due[0][0] - time.monotonic()) if due else None
        if select.select([0], [], [], patience)[0]:
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for request in map(json.loads, lines):
                if "id" in request:
                    heapq.heappush(due, answer(request))
        now = time.monotonic()
        ready: list[bytes] = []
        while due and due[0][0] <= now:
            ready.append(heapq.heappop(due)[1])
        if ready:
            os.write(1, b"".join(ready))


main()
