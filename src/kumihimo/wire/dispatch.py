"""From a decoded message to its answer, whatever carried it."""

from collections.abc import Coroutine
from typing import Any

from msgspec import UNSET, Raw

from kumihimo.wire.content import Text
from kumihimo.wire.errors import (
    InternalError,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    ResourceNotFound,
    RpcError,
    UnsupportedVersion,
)
from kumihimo.wire.inputs import InputRequired, encode_input_required
from kumihimo.wire.jsonrpc import (
    CLIENT_CAPABILITIES,
    PROTOCOL_VERSION,
    Failure,
    Message,
    Params,
    encode,
    encode_answer,
    encode_failure,
    encode_id,
)
from kumihimo.wire.logging_level import SEVERITY, SILENT
from kumihimo.wire.methods import HANDSHAKE_METHODS, OPENING_BRACE, STATELESS_METHODS, encode_called
from kumihimo.wire.peer import Channel, Memory, Peer
from kumihimo.wire.request import Request
from kumihimo.wire.revision import STATELESS, Revision, negotiate
from kumihimo.wire.server import Server
from kumihimo.wire.tool import ToolRefusal, ToolResult

Answered = bytes | Coroutine[Any, Any, bytes]

_NO_PARAMS = Params()


def is_stateless(message: Message) -> bool:
    """Whether a message says of itself which version it speaks, as those of the stateless revisions do."""
    params = message.params
    return params is not None and params.meta is not None and params.meta.protocol_version is not UNSET


def stateless_peer(server: Server, caller: Any, message: Message) -> Peer:
    """The client of one stateless request, from its `_meta`; RpcError where that is missing or unknown to us."""
    meta = None if message.params is None else message.params.meta
    if meta is None or meta.protocol_version is UNSET:
        raise InvalidParams(f"Missing _meta field {PROTOCOL_VERSION}; clients of older versions send `initialize`")
    if meta.protocol_version != STATELESS.name:
        raise UnsupportedVersion(meta.protocol_version)
    if not meta.capabilities or memoryview(meta.capabilities)[0] != OPENING_BRACE:
        raise InvalidParams(f"Missing _meta field {CLIENT_CAPABILITIES}")
    level = SILENT
    if meta.log_level is not UNSET:
        level = SEVERITY.get(meta.log_level, -1)
        if level < 0:
            raise InvalidParams(f"Unknown log level: one of {', '.join(SEVERITY)}")
    return Peer(
        caller,
        STATELESS,
        server.catalog_for(caller, STATELESS),
        Memory(level),
        client_json=meta.client_info,
        capabilities_json=meta.capabilities,
    )


def handshake_peer(server: Server, caller: Any, message: Message) -> Peer:
    """The client that an `initialize` introduces."""
    params = message.params
    if params is None or params.protocol_version is UNSET:
        raise InvalidParams("initialize needs a protocolVersion")
    revision = negotiate(params.protocol_version)
    return Peer(
        caller,
        revision,
        server.catalog_for(caller, revision),
        Memory(),
        client_json=bytes(params.client_info),
        capabilities_json=bytes(params.capabilities),
    )


def answer(server: Server, peer: Peer, channel: Channel, message: Message, body: bytes | Raw) -> Answered:
    """The answer to a request, encoded; or, where its handler is a coroutine, a coroutine that returns it."""
    method = message.method
    request_id = message.id
    if method is UNSET or request_id is UNSET or request_id is None:
        raise InvalidRequest("not a request")
    table = HANDSHAKE_METHODS if peer.revision.handshake else STATELESS_METHODS
    serve = table.get(method)
    request = Request(server, peer, channel, request_id, method, message.params or _NO_PARAMS, body)
    try:
        if serve is None:
            raise MethodNotFound(method)
        outcome = serve(request)
    except Exception as fault:  # noqa: BLE001 - the outermost frame of a handler: every fault becomes an answer
        return _fault_answer(request, fault)
    if type(outcome) is bytes:
        return encode_answer(encode_id(request_id), outcome)
    return _finish(request, outcome)


async def _finish(request: Request, outcome: Any) -> bytes:
    try:
        return encode_answer(encode_id(request.id), await outcome)
    except Exception as fault:  # noqa: BLE001 - the outermost frame of a handler: every fault becomes an answer
        return _fault_answer(request, fault)
    except BaseException as fault:
        if not _stray(fault):
            raise
        return _fault_answer(request, InternalError("Internal error: something the call waited for was cancelled"))


def _stray(fault: BaseException) -> bool:
    """Whether this is a cancellation that nobody asked of the call itself: its client still waits for an answer."""
    import asyncio

    task = asyncio.current_task()
    return isinstance(fault, asyncio.CancelledError) and task is not None and not task.cancelling()


async def gather_answers(answers: list[bytes], later: list[Coroutine[Any, Any, bytes]]) -> bytes:
    """One array with the answers of a batch, when the last of them is ready."""
    import asyncio

    answers += await asyncio.gather(*later)
    return b"[%b]" % b",".join(answers)


def _fault_answer(request: Request, fault: Exception) -> bytes:
    """A refusal and a question to the client are results; an RpcError is itself; anything else is our own fault."""
    if isinstance(fault, InputRequired):
        fields = encode(encode_input_required(fault, request.revision))
        result = request.server.open_result("input_required") + b"," + fields[1:]
        return encode_answer(encode_id(request.id), result)
    if isinstance(fault, ToolRefusal) and request.method == "tools/call":
        reason = fault.reason
        result = ToolResult([Text(text=reason)], is_error=True) if isinstance(reason, str) else reason
        return encode_answer(encode_id(request.id), encode_called(request, result))
    if isinstance(fault, RpcError):
        if isinstance(fault, ResourceNotFound) and request.revision.handshake:
            fault.code = request.server.unknown_resource
        return encode_failure(request.id, fault)
    request.server.on_fault(request.method, fault)
    return encode_failure(request.id, InternalError())


def refusal(message: Message, error: RpcError, revision: Revision | None) -> Failure:
    """The answer to a message that is not served at all."""
    request_id = message.id if isinstance(message.id, int | str) else None
    return encode_failure(request_id, error, null_id=revision is None or not revision.priming)
