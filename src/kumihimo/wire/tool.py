"""Tools: their definition, and what a call of one answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from kumihimo.wire.content import Content
from kumihimo.wire.implementation import Icon
from kumihimo.wire.jsonrpc import encode
from kumihimo.wire.revision import Revision
from kumihimo.wire.schema import ANY_OBJECT, Schema, listed

if TYPE_CHECKING:
    from kumihimo.wire.peer import Cancellable
    from kumihimo.wire.request import Request

Done = Callable[[Any], None]


class ToolAnnotations(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Hints about what a tool does. A client that does not trust the server ignores them."""

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolResult(Struct):
    """The answer of a tool.

    `structured` is a value or already encoded JSON (`Raw`); where `content` is empty, the same JSON is also given
    as text, as the protocol asks for clients that know no structured content.
    """

    content: Sequence[Content] = ()
    structured: Any | UnsetType = UNSET
    is_error: bool = False
    meta: Mapping[str, Any] | None = None


class PassedResult(Struct, rename={"meta": "_meta", "structured": "structuredContent", "is_error": "isError"}):
    """The answer of another server's tool, passed on as the JSON that it is."""

    content: Raw = Raw(b"[]")
    structured: Raw = Raw(b"")
    is_error: bool = False
    meta: dict[str, Any] | None = None


class ToolRefusal(Exception):
    """Raised by a handler: the call is answered with `isError`, so that the model can read why and correct itself."""

    def __init__(self, reason: str | ToolResult) -> None:
        super().__init__(reason if isinstance(reason, str) else "refused")
        self.reason = reason


class Tool(Struct, frozen=True, kw_only=True, eq=False):
    """A tool and the function that does it.

    `handler(request, arguments)` gets the arguments as raw JSON (`{}` where the client sent none) and returns JSON
    (`Raw` or bytes: the structured answer), a string, a ToolResult, a PassedResult, or a Task that it has durably
    created; or it is a coroutine function that returns one of these. A plain function is answered at once and must not block.
    """

    name: str
    handler: "Callable[[Request, Raw], Any]"
    description: str = ""
    title: str | None = None
    input_schema: Schema = ANY_OBJECT
    output_schema: Schema | None = None
    annotations: ToolAnnotations | None = None
    icons: tuple[Icon, ...] = ()
    meta: Mapping[str, Any] | None = None
    tasks: Literal["never", "optional", "required"] = "never"
    """`required`: refused to clients that cannot hold a task."""
    read: Callable[[Any, Raw], bytes] | None = None
    """The short way to the same answer, for a tool that only reads and needs of its request no more than who calls.

    `read(caller, arguments)` gives compact JSON. Whatever it raises, also for arguments that are no object, makes
    `handler` do it all again.
    """
    relay: "Callable[[Request, Raw, Done], Cancellable | None] | None" = None
    """The short way to the same answer, for a tool that somebody else does and whose answer nobody need wait for in a task.

    `relay(request, arguments, done)` begins it, and gives what it can be cancelled by; `done` hears once what `handler` would
    return, or an exception that is a mistake of ours, and nothing after it was cancelled. None where nothing was begun: then
    `handler` does it.
    """
    listed: bool = True
    """An old name is still called and no longer shown."""

    def definition(self, revision: Revision) -> dict[str, Any]:
        """The tool as `tools/list` of this revision shows it."""
        shown: dict[str, Any] = {"name": self.name, "description": self.description}
        if revision.structured and self.title is not None:
            shown["title"] = self.title
        shown["inputSchema"] = listed(self.input_schema)
        if revision.structured and self.output_schema is not None:
            shown["outputSchema"] = listed(self.output_schema)
        if revision.annotations and self.annotations is not None:
            shown["annotations"] = self.annotations
        if revision.icons and self.icons:
            shown["icons"] = self.icons
        if revision.structured and self.meta:
            shown["_meta"] = self.meta
        return shown


def encode_json_result(payload: bytes | Raw, *, structured: bool) -> bytes:
    """The fields of an answer whose text and structured content are the same JSON, without decoding it."""
    text = encode(str(payload, "utf-8"))
    if structured:
        return b'"content":[{"type":"text","text":%b}],"structuredContent":%b,"isError":false' % (
            text,
            payload,
        )
    return b'"content":[{"type":"text","text":%b}],"isError":false' % text


def encode_text_result(text: str, *, is_error: bool) -> bytes:
    return b'"content":[{"type":"text","text":%b}],"isError":%b' % (
        encode(text),
        b"true" if is_error else b"false",
    )


def encode_tool_result(result: ToolResult, *, structured: bool) -> bytes:
    """The fields of an answer, without `_meta`, which the envelope adds."""
    payload: bytes | None = None
    if result.structured is not UNSET:
        payload = encode(result.structured)
    content = encode(result.content)
    if payload is not None and not result.content:
        content = b'[{"type":"text","text":%b}]' % encode(str(payload, "utf-8"))
    fields = b'"content":%b' % content
    if payload is not None and structured:
        fields += b',"structuredContent":%b' % payload
    return fields + (b',"isError":true' if result.is_error else b',"isError":false')


def encode_passed_result(result: PassedResult, *, structured: bool) -> bytes:
    fields = b'"content":%b' % result.content
    if structured and memoryview(result.structured):
        fields += b',"structuredContent":%b' % result.structured
    return fields + (b',"isError":true' if result.is_error else b',"isError":false')


def encode_task_result(result: ToolResult | Raw | str) -> Raw:
    """A tool's answer as a task keeps it: one JSON object."""
    if isinstance(result, ToolResult):
        fields = encode_tool_result(result, structured=True)
    elif isinstance(result, str):
        fields = encode_text_result(result, is_error=False)
    else:
        fields = encode_json_result(result, structured=True)
    return Raw(b"{%b}" % fields)
