"""A scripted HTTP server on 127.0.0.1: each path has its answer, and everything that was asked is kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))

    @property
    def value(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def token(self) -> str | None:
        said = self.headers.get("authorization", "")
        return said.removeprefix("Bearer ") if said.startswith("Bearer ") else None


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


def json_answer(value: Any, status: int = 200, **headers: str) -> Answer:
    lines = {name.replace("_", "-"): text for name, text in headers.items()}
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json", **lines})


Answering = Callable[[Asked], "Answer | Awaitable[Answer]"]


class Site:
    def __init__(self) -> None:
        self.url = ""
        self.routes: dict[str, Answering] = {}
        self.asked: list[Asked] = []
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None] | None] = []

    def paths(self, method: str | None = None) -> list[str]:
        return [one.path for one in self.asked if method in (None, one.method)]

    def at(self, path: str) -> list[Asked]:
        return [one for one in self.asked if one.path == path]

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[Site]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for writer in self._writers:
                writer.close()
            tasks = [task for task in self._tasks if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        self._tasks.append(asyncio.current_task())
        with contextlib.suppress(OSError, EOFError, asyncio.CancelledError):
            while True:
                asked = await _read(reader)
                self.asked.append(asked)
                route = self.routes.get(asked.path)
                answer = Answer(404, b"nothing here") if route is None else route(asked)
                if not isinstance(answer, Answer):
                    answer = await answer
                writer.write(_written(answer))
                await writer.drain()
        writer.close()


async def _read(reader: asyncio.StreamReader) -> Asked:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Asked(method, parts.path, dict(parse_qsl(parts.query)), headers, body)


def _written(answer: Answer) -> bytes:
    lines = {"Content-Length": str(len(answer.body)), **answer.headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {answer.status} Some\r\n{head}\r\n".encode() + answer.body
