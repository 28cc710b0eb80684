"""A model on 127.0.0.1 that does what a scenario says, for any of the APIs.

It keeps nothing between requests: where a scenario stands is seen from the conversation, so that a request that is repeated
gets the same answer.
"""

from __future__ import annotations

import gzip
import json
import re
import select
import socket
import threading
from collections import defaultdict
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.real.apis import APIS
from tests.real.apis.api import Api, Conversation, Reply
from tests.real.scenarios import SCENARIOS, Turn
from tests.real.tools import call

_MARK = re.compile(r"\[\[scenario:(\w+)\]\]")
_VALUE = re.compile(r"\{\{(prompt|earlier|answer):(.+?)\}\}")
_KEY = "scenario-"
_LOOKS = 0.1


@dataclass(frozen=True)
class Request:
    """What was asked, and which answer of which scenario it got. `turn` is None for a request beside the work."""

    api: str
    scenario: str
    turn: int | None
    key: str
    conversation: Conversation


class Model:
    """`with Model() as model:` serves at `model.url` until the end of the block."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.strangers: list[str] = []
        self.closing = threading.Event()
        self._gates: dict[str, threading.Event] = defaultdict(threading.Event)
        self._server = _Server(self)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def gate(self, name: str) -> threading.Event:
        """Set it, and the turns that wait for it are answered."""
        return self._gates[name]

    def asked(self, scenario: str) -> list[Request]:
        """The requests of the work itself, without those beside it."""
        return [one for one in self.requests if one.scenario == scenario and one.turn is not None]

    def turn(self, api: Api, conversation: Conversation, key: str) -> tuple[Turn, int]:
        """The answer to this request, and the message from which on its scenario plays."""
        marked = [place for place, message in enumerate(conversation.messages)
                  if message.role == "user" and _MARK.search(message.text)]  # fmt: skip
        start = marked[-1] if marked else 0
        name = _name(conversation, start, key)
        if not conversation.tools:
            # A title, a summary, a question to a router: beside the work.
            self.requests.append(Request(api.name, name, None, key, conversation))
            return Turn(_beside(conversation)), start
        scenario = SCENARIOS[name]
        turns = scenario.resumed if scenario.resumed and len(marked) > 1 else scenario.turns
        number = conversation.turns_after(start)
        self.requests.append(Request(api.name, name, number, key, conversation))
        return (turns[number] if number < len(turns) else Turn("The scenario is over.")), start


def _name(conversation: Conversation, start: int, key: str) -> str:
    text = conversation.messages[start].text if conversation.messages else ""
    if found := _MARK.search(text) or _MARK.search(conversation.system):
        return found[1]
    return key.removeprefix(_KEY) if key.startswith(_KEY) else "hello"


def _beside(conversation: Conversation) -> str:
    return "ok" if conversation.schema is None else json.dumps(_sample(conversation.schema))


def _sample(schema: dict[str, Any]) -> object:
    """The least that fits a JSON schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = str(schema.get("type", "object")).lower()
    if kind == "object":
        return {name: _sample(inner) for name, inner in schema.get("properties", {}).items()}
    return {"array": [], "boolean": False, "integer": 0, "number": 0}.get(kind, "ok")


def reply(turn: Turn, conversation: Conversation, start: int) -> Reply:
    """The turn with its values filled in and its tools called by their real names."""
    prompts = [message.text for message in conversation.messages[start:] if message.role == "user"]
    texts = {
        "prompt": [*prompts, *(m.text for m in reversed(conversation.messages[:start])), conversation.system],
        "earlier": [message.text for message in reversed(conversation.messages[:start])],
        "answer": [message.text for message in reversed(conversation.messages) if message.role == "result"],
    }

    def value(match: re.Match[str]) -> str:
        for text in texts[match[1]]:
            if found := re.search(match[2], text):
                return found[1]
        return "nothing"

    def filled(given: Any) -> Any:
        return _VALUE.sub(value, given) if isinstance(given, str) else given

    uses = [(use.tool, {name: filled(inner) for name, inner in use.arguments.items()}) for use in turn.uses]
    return Reply(filled(turn.text), tuple(call(word, arguments, conversation) for word, arguments in uses))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: Model) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    connection: socket.socket

    def log_message(self, *_words: Any) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:
            # An agent that was stopped does not say goodbye.
            self.close_connection = True

    def do_GET(self) -> None:
        self._whole(200, {"object": "list", "data": [], "models": []})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        body = self._body()
        if path.endswith(("/count_tokens", ":countTokens")):
            return self._whole(200, {"input_tokens": 100, "totalTokens": 100})
        api = next((one for one in APIS if one.serves(path)), None)
        if api is None:
            self.server.model.strangers.append(path)
            return self._whole(404, {"error": {"message": f"nobody is asked at {path}"}})
        conversation = api.read(path, json.loads(body))
        turn, start = self.server.model.turn(api, conversation, self._key())
        return self._answer(api, conversation, turn, start)

    def _answer(self, api: Api, conversation: Conversation, turn: Turn, start: int) -> None:
        gate = self.server.model.gate(turn.gate) if turn.gate else None
        if (turn.hangs or gate) and not self._held(gate):
            self.close_connection = True
            return None
        if turn.status is not None:
            return self._whole(turn.status, api.refusal(turn.status, turn.text), turn.headers)
        answer = reply(turn, conversation, start)
        if not conversation.streamed:
            return self._whole(200, api.whole(conversation, answer))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in api.stream(conversation, answer):
            self.wfile.write(event.encoded())
        self.close_connection = True
        return None

    def _held(self, gate: threading.Event | None) -> bool:
        """True when the gate opens; False when who asked has gone, or the model ends."""
        while not self.server.model.closing.is_set():
            if gate is not None and gate.wait(_LOOKS):
                return True
            ready, _, _ = select.select([self.connection], [], [], 0 if gate else _LOOKS)
            if ready and not self.connection.recv(1, socket.MSG_PEEK):
                return False
        return False

    def _whole(self, status: int, body: dict[str, Any], headers: Any = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data

    def _key(self) -> str:
        for name in ("x-api-key", "x-goog-api-key"):
            if key := self.headers.get(name):
                return key
        return self.headers.get("Authorization", "").removeprefix("Bearer ")
