"""A browser as far as locks are concerned: it keeps cookies and says where its pages come from."""

from __future__ import annotations

import http.client
import json
from typing import Any

from msgspec import Struct

from tests.mcp.http_door import HttpDoor


class Page(Struct):
    status: int
    headers: dict[str, str]
    body: str


class Browser:
    def __init__(self, door: HttpDoor) -> None:
        self._port = door.running.port
        self.cookie: str | None = None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def get(self, path: str, **headers: str) -> Page:
        return self._ask("GET", path, None, headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Page:
        sent = {"content-type": "application/json", "origin": self.origin, **headers}
        return self._ask("POST", path, json.dumps(body or {}), sent)

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> Page:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        cookie = {"cookie": f"other=1; {self.cookie}"} if self.cookie else {}
        connection.request(method, path, body, {**cookie, **headers})
        answer = connection.getresponse()
        page = Page(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
        connection.close()
        given = page.headers.get("set-cookie")
        if given:
            self.cookie = given.partition(";")[0]
        return page
