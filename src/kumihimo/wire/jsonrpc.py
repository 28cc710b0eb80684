"""The JSON-RPC envelope: bytes to a typed message in one pass, and answers to bytes."""

from typing import Any, Final, Literal, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from kumihimo.wire.errors import InvalidParams, InvalidRequest, MethodNotFound, ParseError, RpcError

RequestId = int | str
NO_RAW: Final = Raw(b"")
# What decoding can raise for bytes that are no message.
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"


class Meta(
    Struct,
    gc=False,
    rename={
        "progress_token": "progressToken",
        "protocol_version": PROTOCOL_VERSION,
        "client_info": CLIENT_INFO,
        "capabilities": CLIENT_CAPABILITIES,
        "log_level": LOG_LEVEL,
    },
):
    """What `_meta` of a request says to the protocol itself."""

    progress_token: int | str | UnsetType = UNSET
    protocol_version: str | UnsetType = UNSET
    client_info: Raw = NO_RAW
    capabilities: Raw = NO_RAW
    log_level: str | UnsetType = UNSET


class Params(Struct, rename={"meta": "_meta"}):
    """The parameters of every method that is known, in one shape, so that a message is decoded once."""

    name: str | UnsetType = UNSET
    arguments: Raw = NO_RAW
    meta: Meta | None = None
    uri: str | UnsetType = UNSET
    cursor: str | UnsetType = UNSET
    level: str | UnsetType = UNSET
    ref: Raw = NO_RAW
    argument: Raw = NO_RAW
    context: Raw = NO_RAW
    task_id: str | UnsetType = msgspec.field(default=UNSET, name="taskId")
    input_responses: dict[str, Raw] | UnsetType = msgspec.field(default=UNSET, name="inputResponses")
    request_state: str | UnsetType = msgspec.field(default=UNSET, name="requestState")
    notifications: Raw = NO_RAW
    request_id: int | str | UnsetType = msgspec.field(default=UNSET, name="requestId")
    protocol_version: str | UnsetType = msgspec.field(default=UNSET, name="protocolVersion")
    capabilities: Raw = NO_RAW
    client_info: Raw = msgspec.field(default=NO_RAW, name="clientInfo")


class Message(Struct):
    """One message: a request (method and id), a notification (method alone) or a response (no method)."""

    jsonrpc: Literal["2.0"]
    method: str | UnsetType = UNSET
    id: int | str | UnsetType | None = UNSET
    params: Params | None = None
    result: Raw = NO_RAW
    error: Raw = NO_RAW


class Envelope(Struct):
    """The parts of a message that tell what went wrong with it, when `Message` could not be decoded."""

    id: Any = None
    method: Any = None


_decode_message = msgspec.json.Decoder(Message).decode
_decode_envelope = msgspec.json.Decoder(Envelope).decode
_decode_batch = msgspec.json.Decoder(list[Raw]).decode
encode: Final = msgspec.json.Encoder().encode


class Undecodable(Exception):
    """A message that cannot be served: the error to answer, and the id to answer it to where it could be read."""

    def __init__(self, error: RpcError, request_id: RequestId | None, *, answerable: bool) -> None:
        super().__init__(error.message)
        self.error = error
        self.request_id = request_id
        self.answerable = answerable
        """False for a notification: it gets no answer, whatever is wrong with it."""


class Failure(bytes):
    """An encoded error answer; `code` lets a transport choose its own status."""

    code: int


def decode(body: bytes | Raw) -> Message:
    """Decode one message, or raise Undecodable."""
    try:
        if isinstance(body, Raw) or not body.isascii():
            # What is looked into later, or by somebody else, has to be text as well.
            str(memoryview(body), "utf-8")
        message = _decode_message(body)
    except (msgspec.ValidationError, UnicodeDecodeError) as error:
        raise _diagnose(body, error) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise _malformed(body, error) from None
    if message.method is UNSET and (message.id is UNSET or (not message.result and not message.error)):
        identity = message.id if isinstance(message.id, int | str) else None
        raise Undecodable(InvalidRequest("no method"), identity, answerable=True)
    if message.id is None and message.method is not UNSET:
        raise Undecodable(InvalidRequest("id is null"), None, answerable=True)
    return message


def decode_batch(body: bytes) -> list[Raw]:
    """Decode the members of a batch without looking into them, or raise Undecodable."""
    try:
        members = _decode_batch(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        halved = _with_halves(body)
        if not isinstance(halved, list):
            raise Undecodable(ParseError(str(error)), None, answerable=True) from None
        members = [_written_again(member) for member in cast("list[Any]", halved)]
    if not members:
        raise Undecodable(InvalidRequest("empty batch"), None, answerable=True)
    return members


def is_batch(body: bytes) -> bool:
    """Whether the first character that is not white space opens an array."""
    return body[:1] == b"[" or body[:64].lstrip()[:1] == b"["


def _malformed(body: bytes | Raw, fault: Exception) -> Undecodable:
    """What is no JSON to us has no id either, except where a string alone is at fault: its sender waits for an answer."""
    halved = _with_halves(body)
    if not isinstance(halved, dict):
        return Undecodable(ParseError(str(fault)), None, answerable=True)
    table = cast("dict[str, Any]", halved)
    error = ParseError("a string has an escape that is half of a surrogate pair")
    found = table.get("id")
    readable = (isinstance(found, str) and _printable(found) == found) or type(found) is int
    return Undecodable(
        error, found if readable else None, answerable=readable or "id" in table or "method" not in table
    )


def _with_halves(body: bytes | Raw) -> Any:
    """JSON in which a string may hold half of a surrogate pair, as some programs write what they cut in two. Else None."""
    # Loaded when it is needed: every door starts with this module, and hardly any message is like this.
    import json

    try:
        return json.loads(bytes(body), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _written_again(member: Any) -> Raw:
    """A member of a batch with its halves as escapes, so that it is judged for itself and the others are served."""
    import json

    return Raw(json.dumps(member).encode())


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _diagnose(body: bytes | Raw, fault: Exception) -> Undecodable:
    reason = str(fault)
    try:
        envelope = _decode_envelope(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        code = InvalidRequest if isinstance(error, msgspec.ValidationError) else ParseError
        return Undecodable(code(str(error)), None, answerable=True)
    identity: RequestId | None = None
    if isinstance(envelope.id, int | str) and not isinstance(envelope.id, bool):
        identity = envelope.id
    if isinstance(fault, UnicodeDecodeError):
        return Undecodable(ParseError(reason), identity, answerable=identity is not None or envelope.method is None)
    if "`$.params" not in reason:
        return Undecodable(InvalidRequest(reason), identity, answerable=True)
    answerable = identity is not None
    if isinstance(envelope.method, str) and envelope.method not in KNOWN_METHODS:
        return Undecodable(MethodNotFound(envelope.method), identity, answerable=answerable)
    return Undecodable(InvalidParams(f"Invalid params: {reason}"), identity, answerable=answerable)


# The methods of every revision; those of `methods.py` and `initialize`, which a test compares.
KNOWN_METHODS: Final = frozenset(
    {
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
        "tasks/get",
        "tasks/update",
        "tasks/cancel",
    }
)


def encode_id(request_id: RequestId) -> bytes:
    return b"%d" % request_id if type(request_id) is int else encode(request_id)


def encode_answer(request_id: bytes, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, result)


def encode_failure(request_id: RequestId | None, error: RpcError, *, null_id: bool = True) -> Failure:
    """The answer that carries `error`; with no id to answer to, `id` is null or, in newer revisions, left out."""
    body: dict[str, Any] = {"jsonrpc": "2.0"}
    if request_id is not None or null_id:
        body["id"] = request_id
    details: dict[str, Any] = {"code": error.code, "message": _printable(error.message)}
    if error.data is not None:
        details["data"] = error.data
    body["error"] = details
    try:
        failure = Failure(encode(body))
    except UnicodeEncodeError:
        details.pop("data")
        failure = Failure(encode(body))
    failure.code = error.code
    return failure


def encode_notification(method: str, params: Any = None) -> bytes:
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % encode(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), encode(params))


def encode_request(request_id: str, method: str, params: Any) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (
        encode(request_id),
        encode(method),
        encode(params),
    )


def _printable(text: str) -> str:
    """JSON has no lone surrogates; a message that quotes one is still to be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
