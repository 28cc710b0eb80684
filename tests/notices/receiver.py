"""A receiver of webhooks: a real HTTP server that keeps what it is sent and answers as it is told."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct

BOUND_SECONDS = 30.0


class Post(Struct):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


class Receiver:
    """`answers` are the statuses of the first requests, 204 all later ones; `hold` lets one wait until it is released."""

    def __init__(self, answers: Sequence[int] = (), *, hold: bool = False) -> None:
        self._answers = list(answers)
        self._posts: queue.Queue[Post] = queue.Queue()
        self.released = threading.Event()
        if not hold:
            self.released.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver._posts.put(Post(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                receiver.released.wait(BOUND_SECONDS)
                self.send_response(receiver._answers.pop(0) if receiver._answers else 204)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?token=hush"

    def next(self) -> Post:
        return self._posts.get(timeout=BOUND_SECONDS)

    def rest(self) -> list[Post]:
        """What has come and was not taken."""
        found: list[Post] = []
        while not self._posts.empty():
            found.append(self._posts.get_nowait())
        return found

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
