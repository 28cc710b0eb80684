"""`/api/v1/<noun>/<verb>`: every operation, POST with a JSON object, for the owner of this machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct

from kumihimo.domain.errors import InvalidValue, KumihimoError, StoreError
from kumihimo.domain.messages import render
from kumihimo.operations.catalogue import every
from kumihimo.operations.operation import Operation
from kumihimo.settings import Language
from kumihimo.surfaces.http.languages import language_of
from kumihimo.surfaces.http.performing import perform
from kumihimo.surfaces.http.statuses import status_of
from kumihimo.surfaces.mcp.whole_numbers import whole
from kumihimo.toolsets.camel.presenting import answer_type, is_shown, present
from kumihimo.toolsets.registry import NAMES, toolset
from kumihimo.wire.http_respond import respond_json

if TYPE_CHECKING:
    from kumihimo.operations.operation import Caller
    from kumihimo.surfaces.mcp.door import Door
    from kumihimo.wire.http_respond import Receive, Send

PREFIX = "/api/v1/"
MOST_BODY_BYTES = 16 * 1024 * 1024


class Problem(Exception):
    """A request that is not carried out."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Route(NamedTuple):
    """An operation, the shape of its answers, and what brings them into it."""

    operation: Operation[Any, Any]
    answer: type[Struct]
    present: Callable[[Any, Language], Struct]


@cache
def routes() -> dict[str, Route]:
    """Every operation by its path behind the prefix, in the shape of the terminal, or else in that of its toolset."""
    own = {
        tool.operation: tool
        for name in NAMES
        for tool in toolset(name).tools
        if tool.present is not None and tool.answer is not None
    }
    found: dict[str, Route] = {}
    for it in every():
        path = it.name.replace(".", "/")
        if is_shown(it.answer):
            found[path] = Route(it, answer_type(it.answer), _presenter(it))
        else:
            tool = own[it.name]
            assert tool.present is not None, "looked for above"
            found[path] = Route(it, tool.answer, tool.present)
    return found


def _presenter(operation: Operation[Any, Any]) -> Callable[[Any, Language], Struct]:
    return lambda value, _: present(operation.answer, value)


class Api:
    def __init__(self, door: Door) -> None:
        self._door = door

    async def serve(self, path: str, scope: Any, caller: Caller, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(path, scope, caller, receive)
            await respond_json(send, 200, answer)
        except Problem as problem:
            headers = ((b"allow", b"POST"),) if problem.status == 405 else ()
            await respond_json(send, problem.status, _told(problem.code, str(problem)), headers)
        except KumihimoError as error:
            told = _told(
                str(error.facts.get("upstream_code") or error.code),
                render(error, language_of(scope, self._door.language)),
            )
            await respond_json(send, 409 if self._is_of_another(error) else status_of(error), told)

    def _is_of_another(self, error: KumihimoError) -> bool:
        """Whether a database is meant that the caller has named: a backup, or where to copy to. Ours is as it should be."""
        if not isinstance(error, StoreError):
            return False
        place = str(error.facts["database"])
        return place.startswith("/") if self._door.remote else place != self._door.settings.database

    async def _answer(self, path: str, scope: Any, caller: Caller, receive: Receive) -> bytes:
        route = routes().get(path)
        if route is None:
            raise Problem(
                404, "NoSuchOperation", f"There is no operation {path[:100]!r}: /openapi.json has all of them."
            )
        if scope["method"] != "POST":
            raise Problem(405, "MethodNotAllowed", "Operations are called with POST.")
        arguments = route.operation.read(_values(await _body(scope, receive)))
        language = language_of(scope, self._door.language)
        value = await perform(self._door, route.operation, caller, arguments, language)
        return msgspec.json.encode(route.present(value, language))


def _told(code: str, message: str) -> bytes:
    return msgspec.json.encode({"error": {"code": code, "message": message}})


def _values(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        return whole(msgspec.json.decode(body, type=dict[str, Any]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidValue("body", "malformed", reason=f"it is no JSON object: {error}"[:200]) from None


async def _body(scope: Any, receive: Receive) -> bytes:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    kind = headers.get(b"content-type", b"application/json").split(b";")[0].strip().lower()
    if kind != b"application/json":
        # A form is what a foreign page could send without asking.
        raise Problem(415, "UnsupportedMediaType", "The body is application/json.")
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "Disconnected", "The request ended before its body.")
        body += message.get("body", b"")
        if len(body) > MOST_BODY_BYTES:
            raise Problem(413, "TooLarge", f"The body has more than {MOST_BODY_BYTES} bytes.")
        if not message.get("more_body"):
            return bytes(body)
