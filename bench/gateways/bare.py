"""The smallest gateway, to measure others by: `python bare.py PORT COMMAND...`. It changes ids, and knows nothing else.

An ASGI application on uvicorn, uvloop and httptools, which Kumihimo has too; one server on stdio; no sessions, no tokens, no
schemas, no lists, no times, nothing kept.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import uvicorn
from msgspec import Raw, Struct

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_CALL = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}\n'
_RESULT = b'{"jsonrpc":"2.0","id":%b,"result":%b}'
_ERROR = b'{"jsonrpc":"2.0","id":%b,"error":%b}'
_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


class Request(Struct):
    method: str
    id: Raw = Raw()
    params: Raw = Raw(b"{}")


class Answer(Struct):
    id: int | None = None
    result: Raw = Raw()
    error: Raw = Raw()


_requests = msgspec.json.Decoder(Request)
_answers = msgspec.json.Decoder(Answer)


class Backend:
    """The server: started with the first request, which is `initialize`."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: Process | None = None
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._last = 0

    async def ask(self, request: Request) -> Answer:
        if self._process is None:
            self._process = await asyncio.create_subprocess_exec(*self._command, stdin=PIPE, stdout=PIPE)
            self._reading = asyncio.create_task(self._read(self._process))
        self._last = number = self._last + 1
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._write(_CALL % (number, request.method.encode(), request.params))
        found = await answer
        if request.method == "initialize":
            self._write(_INITIALIZED)
        return found

    async def _read(self, process: Process) -> None:
        assert process.stdout
        while line := await process.stdout.readline():
            answer = _answers.decode(line)
            if answer.id is not None:
                self._waiting.pop(answer.id).set_result(answer)

    def _write(self, message: bytes) -> None:
        assert self._process
        assert self._process.stdin
        self._process.stdin.write(message)


class Application:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def __call__(self, _: dict[str, Any], receive: Receive, send: Send) -> None:
        body = b""
        while True:
            event = await receive()
            body += event["body"]
            if not event["more_body"]:
                break
        request = _requests.decode(body)
        if not request.id:
            await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body"})
            return
        answer = await self._backend.ask(request)
        text = _ERROR % (request.id, answer.error) if answer.error else _RESULT % (request.id, answer.result)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(text))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": text})


if __name__ == "__main__":
    uvicorn.run(
        Application(Backend(sys.argv[2:])),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        lifespan="off",
        log_config=None,
        access_log=False,
    )
