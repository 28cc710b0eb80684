"""Streamable HTTP on a real socket, served by uvicorn."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from wire_clients import stateless_headers, until
from wire_kit import BOUND, CANCELLED, STARTED, build, call, initialize, request, stateless

from kumihimo.wire.http import HttpServer

uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

BOTH = {"accept": "application/json, text/event-stream"}


@contextlib.asynccontextmanager
async def served(**options: Any) -> AsyncIterator[str]:
    """The URL of the application on a free port."""
    STARTED.clear()
    CANCELLED.clear()
    app = HttpServer(build(), **options)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve())
    await until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        await app.close()
        server.should_exit = True
        await serving


def test_both_eras_over_a_socket() -> None:
    async def test() -> None:
        async with served() as url, httpx.AsyncClient(headers=BOTH, timeout=BOUND) as client:
            begun = await client.post(url, json=initialize())
            session = {"mcp-session-id": begun.headers["mcp-session-id"]}
            results = await asyncio.gather(
                *(client.post(url, json=call(n, "add_later", {"a": n, "b": 1}), headers=session) for n in range(50))
            )
            assert [result.json()["result"]["structuredContent"]["sum"] for result in results] == list(range(1, 51))
            message = call(1, "report", _meta={"progressToken": 1})
            headers = {name.replace("_", "-"): value for name, value in stateless_headers(message).items()}
            streamed = await client.post(url, json=stateless(message), headers=headers)
            assert streamed.headers["content-type"] == "text/event-stream"
            assert streamed.text.count("data: ") == 4

    asyncio.run(test())


def test_a_slow_call_holds_up_no_other_and_a_client_that_hangs_up_cancels_it() -> None:
    async def test() -> None:
        async with served() as url, httpx.AsyncClient(headers=BOTH, timeout=BOUND) as client:
            message = call(1, "quiet_wait")
            headers = {name.replace("_", "-"): value for name, value in stateless_headers(message).items()}
            slow = asyncio.ensure_future(client.post(url, json=stateless(message), headers=headers))
            await until(lambda: STARTED)
            listed = request(2, "tools/list")
            quick_headers = {name.replace("_", "-"): value for name, value in stateless_headers(listed).items()}
            quick = await client.post(url, json=stateless(listed), headers=quick_headers)
            assert quick.status_code == 200
            slow.cancel()
            await until(lambda: CANCELLED == ["1"])

    asyncio.run(test())


def test_a_reader_that_is_slow_holds_back_the_call_that_writes_to_it() -> None:
    async def test() -> None:
        async with served() as url:
            host, port = url.removeprefix("http://").removesuffix("/mcp").split(":")
            reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
            message = call(1, "flood", {"count": 5_000}, _meta={"progressToken": 1})
            body = json.dumps(stateless(message)).encode()
            head = [f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}"]
            head += [f"{name.replace('_', '-')}: {value}" for name, value in stateless_headers(message).items()]
            head += [f"{name}: {value}" for name, value in BOTH.items()]
            head += ["content-type: application/json", "connection: close"]
            writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
            await reader.readuntil(b"\r\n\r\n")
            received = b""
            while data := await asyncio.wait_for(reader.read(1 << 16), BOUND):
                received += data
            assert received.count(b'"progress":') == 5_000
            assert b"flooded" in received
            writer.close()

    asyncio.run(test())
