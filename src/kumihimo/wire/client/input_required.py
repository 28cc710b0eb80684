"""An answer of the stateless revision that asks for more before there is one, and what is sent instead of it then."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import Raw, Struct

from kumihimo.wire.client.call import OnRequest
from kumihimo.wire.client.errors import BadAnswer
from kumihimo.wire.jsonrpc import NO_RAW, UNREADABLE, encode

# The methods that may be answered so.
METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})
# A server that is never content is given up.
MOST_ROUNDS = 16


class _Kind(Struct, rename="camel"):
    result_type: Any = None


class _Request(Struct):
    method: str
    params: Any = None


class InputRequired(Struct, rename="camel"):
    """`request_state` is the server's own: it is given back as it came."""

    input_requests: dict[str, _Request] = {}
    request_state: Raw = NO_RAW

    async def answered(self, ask: OnRequest | None) -> bytes:
        """What goes with the request when it is sent again, as fields. Everything that is asked is asked at once."""
        fields: list[bytes] = []
        if self.input_requests:
            assert ask is not None, "whoever has nobody to ask does not get here"
            asked = [ask(request.method, request.params) for request in self.input_requests.values()]
            answers = await _together([asyncio.ensure_future(one) for one in asked])
            responses = dict(zip(self.input_requests, answers, strict=True))
            fields.append(b'"inputResponses":%b' % encode(responses))
        if self.request_state:
            fields.append(b'"requestState":%b' % self.request_state)
        return b",".join(fields)


_decode_kind = msgspec.json.Decoder(_Kind).decode
_decode = msgspec.json.Decoder(InputRequired).decode


def is_input_required(result: Raw) -> bool:
    try:
        return _decode_kind(result).result_type == "input_required"
    except UNREADABLE:
        # What else it is, whoever reads it finds out.
        return False


def input_required(result: Raw) -> InputRequired | None:
    """What the server wants to know; None where this is its answer."""
    if not is_input_required(result):
        return None
    try:
        wanted = _decode(result)
    except UNREADABLE as error:
        raise BadAnswer(f"what the server asks for has another shape: {error}") from None
    if not wanted.input_requests and not wanted.request_state:
        raise BadAnswer("the server asks for input and does not say for which")
    return wanted


async def _together(asked: list[asyncio.Future[Any]]) -> list[Any]:
    try:
        return await asyncio.gather(*asked)
    except BaseException:
        # Where one can't be answered, nobody needs the others.
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        raise
