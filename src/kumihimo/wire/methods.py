"""What each method of the protocol does: a table from its name to a function, per era.

A method returns its encoded result, or a coroutine that does where a handler is one.
"""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw

from kumihimo.wire.catalog import Catalog, Kind
from kumihimo.wire.completion import (
    MOST_VALUES,
    Completion,
    CompletionArgument,
    CompletionContext,
    Reference,
)
from kumihimo.wire.content import Text
from kumihimo.wire.errors import InvalidParams, MethodNotFound, MissingCapability, ResourceNotFound
from kumihimo.wire.jsonrpc import encode
from kumihimo.wire.logging_level import SEVERITY
from kumihimo.wire.prompt import PromptMessage, PromptResult
from kumihimo.wire.request import Request
from kumihimo.wire.resource import Contents, ResourceResult
from kumihimo.wire.task import REQUIRED, Task
from kumihimo.wire.tool import (
    PassedResult,
    Tool,
    ToolResult,
    encode_json_result,
    encode_passed_result,
    encode_text_result,
    encode_tool_result,
)

if TYPE_CHECKING:
    from kumihimo.wire.task import TaskStore

Outcome = bytes | Coroutine[Any, Any, bytes]
Method = Callable[[Request], Outcome]
Returned = TypeVar("Returned")

NO_ARGUMENTS: Final = Raw(b"{}")
OPENING_BRACE: Final = ord("{")


def _then(returned: object, encode_it: Callable[[Request, Any], bytes], request: Request) -> Outcome:
    """Encode what a handler returned, now or when its coroutine is done."""
    if not hasattr(returned, "__await__"):
        return encode_it(request, returned)
    return _later(cast("Awaitable[Any]", returned), encode_it, request)


async def _later(returned: Awaitable[Any], encode_it: Callable[[Request, Any], bytes], request: Request) -> bytes:
    return encode_it(request, await returned)


def ping(request: Request) -> Outcome:
    return request.server.result(request.revision, b"")


def discover(request: Request) -> Outcome:
    server, peer = request.server, request.peer
    return server.result(peer.revision, server.discover_fields(peer.catalog, peer.revision))


def _list(kind: Kind, offered: Callable[[Catalog], object]) -> Method:
    def method(request: Request) -> Outcome:
        peer = request.peer
        if not offered(peer.catalog):
            raise MethodNotFound(request.method)
        if kind == "tools" and peer.catalog.live_tools is not None and request.params.cursor is UNSET:
            return _list_live(request)
        return _page(request, kind)

    return method


def _page(request: Request, kind: Kind) -> bytes:
    peer, cursor = request.peer, request.params.cursor
    fields = peer.catalog.page(kind, peer.revision, None if cursor is UNSET else cursor)
    return request.server.result(peer.revision, fields)


async def _list_live(request: Request) -> bytes:
    await request.peer.catalog.refresh()
    return _page(request, "tools")


def _has_resources(catalog: Catalog) -> bool:
    return bool(catalog.resources or catalog.templates)


def call_tool(request: Request) -> Outcome:
    params = request.params
    catalog = request.peer.catalog
    if not catalog.tools:
        raise MethodNotFound(request.method)
    name = params.name
    if name is UNSET:
        raise InvalidParams("Invalid params: tools/call needs the name of a tool")
    tool = catalog.tools.get(name)
    if tool is None:
        if catalog.live_tools is None:
            raise InvalidParams(f"Unknown tool: {name[:200]}")
        return _call_live(request, name)
    return _call(request, tool)


async def _call_live(request: Request, name: str) -> bytes:
    """A tool that was not there when the list was last made may be there now."""
    catalog = request.peer.catalog
    await catalog.refresh()
    tool = catalog.tools.get(name)
    if tool is None:
        raise InvalidParams(f"Unknown tool: {name[:200]}")
    outcome = _call(request, tool)
    return outcome if isinstance(outcome, bytes) else await outcome


def _call(request: Request, tool: Tool) -> Outcome:
    params = request.params
    if tool.tasks == "required" and not request.accepts_tasks:
        raise MissingCapability(REQUIRED)
    arguments = params.arguments
    if not arguments:
        arguments = NO_ARGUMENTS
    elif memoryview(arguments)[0] != OPENING_BRACE:
        raise InvalidParams("Invalid params: the arguments of a tool are an object")
    returned = tool.handler(request, arguments)
    if type(returned) is Raw or type(returned) is bytes:
        revision = request.peer.revision
        fields = encode_json_result(returned, structured=revision.structured)
        return request.server.result(revision, fields)
    return _then(returned, encode_called, request)


def encode_called(request: Request, returned: Any) -> bytes:
    """The result of `tools/call` from what the handler returned."""
    revision = request.peer.revision
    meta = None
    if type(returned) is bytes:
        # What most of them are.
        fields = encode_json_result(returned, structured=revision.structured)
    elif isinstance(returned, str):
        fields = encode_text_result(returned, is_error=False)
    elif isinstance(returned, ToolResult):
        fields = encode_tool_result(returned, structured=revision.structured)
        meta = returned.meta
    elif isinstance(returned, PassedResult):
        fields, meta = encode_passed_result(returned, structured=revision.structured), returned.meta
    elif isinstance(returned, Task):
        if not request.accepts_tasks:
            raise MissingCapability(REQUIRED)
        return request.server.open_result("task") + b"," + encode(returned.handle())[1:]
    elif isinstance(returned, Raw | bytes):
        fields = encode_json_result(returned, structured=revision.structured)
    else:
        raise TypeError(f"a tool returned {type(returned).__name__}, which is no answer")
    return request.server.result(revision, fields, meta)


def read_resource(request: Request) -> Outcome:
    catalog = request.peer.catalog
    if not _has_resources(catalog):
        raise MethodNotFound(request.method)
    uri = request.params.uri
    if uri is UNSET:
        raise InvalidParams("Invalid params: resources/read needs a uri")
    resource = catalog.resources.get(uri)
    if resource is not None:
        return _then(resource.handler(request, uri), _encode_read, request)
    templated = catalog.resource(uri)
    if templated is None:
        raise ResourceNotFound(uri)
    template, values = templated
    return _then(template.handler(request, uri, values), _encode_read, request)


def _encode_read(request: Request, returned: Any) -> bytes:
    result = returned
    if not isinstance(result, ResourceResult):
        several = isinstance(returned, list | tuple)
        result = ResourceResult(cast("list[Contents]", returned) if several else [returned])
    fields = b'"contents":%b' % encode(result.contents)
    if not request.revision.handshake:
        fields += b',"ttlMs":%d,"cacheScope":"%b"' % (result.ttl_ms, result.cache_scope.encode())
    return request.server.result(request.revision, fields)


def subscribe(request: Request) -> Outcome:
    uri = request.params.uri
    if not _has_resources(request.peer.catalog):
        raise MethodNotFound(request.method)
    if uri is UNSET:
        raise InvalidParams("Invalid params: resources/subscribe needs a uri")
    if len(request.peer.memory.subscribed) >= MOST_SUBSCRIPTIONS:
        raise InvalidParams(f"more than {MOST_SUBSCRIPTIONS} subscriptions: unsubscribe from some")
    request.peer.memory.subscribed.add(uri)
    return _watched(request) if request.server.watches else b"{}"


async def _watched(request: Request) -> bytes:
    """A coroutine, because who watches needs an event loop."""
    await request.server.start_watching()
    return b"{}"


MOST_SUBSCRIPTIONS: Final = 10_000


def unsubscribe(request: Request) -> Outcome:
    uri = request.params.uri
    if not _has_resources(request.peer.catalog):
        raise MethodNotFound(request.method)
    if uri is not UNSET:
        request.peer.memory.subscribed.discard(uri)
    return b"{}"


_decode_arguments = msgspec.json.Decoder(dict[str, str]).decode


def get_prompt(request: Request) -> Outcome:
    catalog = request.peer.catalog
    if not catalog.prompts:
        raise MethodNotFound(request.method)
    name = request.params.name
    prompt = None if name is UNSET else catalog.prompts.get(name)
    if prompt is None:
        raise InvalidParams(f"Unknown prompt: {'' if name is UNSET else name[:200]}")
    arguments: dict[str, str] = {}
    if request.params.arguments:
        try:
            arguments = _decode_arguments(request.params.arguments)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise InvalidParams(f"Invalid params: the arguments of the prompt: {error}") from None
    missing = [argument.name for argument in prompt.arguments if argument.required and argument.name not in arguments]
    if missing:
        raise InvalidParams(f"Invalid params: the prompt needs {', '.join(missing)}")
    return _then(prompt.handler(request, arguments), _encode_prompt, request)


def _encode_prompt(request: Request, returned: Any) -> bytes:
    result = returned
    if isinstance(returned, str):
        result = PromptResult([PromptMessage("user", Text(text=returned))])
    elif not isinstance(returned, PromptResult):
        result = PromptResult(returned)
    return request.server.result(request.revision, encode(result)[1:-1])


_decode_reference = msgspec.json.Decoder(Reference).decode
_decode_argument = msgspec.json.Decoder(CompletionArgument).decode
_decode_context = msgspec.json.Decoder(CompletionContext).decode


def complete(request: Request) -> Outcome:
    completer = request.server.complete
    if completer is None:
        raise MethodNotFound(request.method)
    params = request.params
    try:
        reference = _decode_reference(params.ref)
        argument = _decode_argument(params.argument)
        context = _decode_context(params.context) if params.context else CompletionContext()
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidParams(f"Invalid params of completion/complete: {error}") from None
    return _then(completer(request, reference, argument, context), _encode_completion, request)


def _encode_completion(request: Request, returned: Any) -> bytes:
    completion: Completion = returned if isinstance(returned, Completion) else Completion(returned)
    total = len(completion.values) if completion.total is None else completion.total
    shown = {
        "values": completion.values[:MOST_VALUES],
        "total": total,
        "hasMore": completion.has_more or len(completion.values) > MOST_VALUES,
    }
    return request.server.result(request.revision, b'"completion":%b' % encode(shown))


def set_level(request: Request) -> Outcome:
    if not request.server.logging:
        raise MethodNotFound(request.method)
    level = request.params.level
    severity = None if level is UNSET else SEVERITY.get(level)
    if severity is None:
        raise InvalidParams(f"Unknown level: one of {', '.join(SEVERITY)}")
    request.peer.memory.level = severity
    return b"{}"


def _task_store(request: Request) -> "tuple[TaskStore, str]":
    store = request.server.tasks
    if store is None:
        raise MethodNotFound(request.method)
    if not request.accepts_tasks:
        raise MissingCapability(REQUIRED)
    task_id = request.params.task_id
    if task_id is UNSET:
        raise InvalidParams(f"{request.method} needs a taskId")
    return store, task_id


def get_task(request: Request) -> Outcome:
    store, task_id = _task_store(request)
    return _then(store.get(request.caller, task_id), _encode_task, request)


def _encode_task(request: Request, task: Any) -> bytes:
    if task is None:
        raise InvalidParams("Task not found")
    return request.server.result(request.revision, encode(task)[1:-1])


def update_task(request: Request) -> Outcome:
    store, task_id = _task_store(request)
    responses = request.params.input_responses
    if responses is UNSET:
        raise InvalidParams("tasks/update needs inputResponses")
    return _then(store.update(request.caller, task_id, responses), _encode_known, request)


def cancel_task(request: Request) -> Outcome:
    store, task_id = _task_store(request)
    return _then(store.cancel(request.caller, task_id), _encode_known, request)


def _encode_known(request: Request, known: Any) -> bytes:
    if not known:
        raise InvalidParams("Task not found")
    return request.server.result(request.revision, b"")


def listen(request: Request) -> Outcome:
    from kumihimo.wire.subscription import listen as serve_subscription

    return serve_subscription(request)


_SHARED: Final[dict[str, Method]] = {
    "tools/list": _list("tools", lambda catalog: catalog.tools),
    "tools/call": call_tool,
    "resources/list": _list("resources", _has_resources),
    "resources/templates/list": _list("resourceTemplates", _has_resources),
    "resources/read": read_resource,
    "prompts/list": _list("prompts", lambda catalog: catalog.prompts),
    "prompts/get": get_prompt,
    "completion/complete": complete,
}
HANDSHAKE_METHODS: Final[dict[str, Method]] = _SHARED | {
    "ping": ping,
    "logging/setLevel": set_level,
    "resources/subscribe": subscribe,
    "resources/unsubscribe": unsubscribe,
}
STATELESS_METHODS: Final[dict[str, Method]] = _SHARED | {
    "server/discover": discover,
    "subscriptions/listen": listen,
    "tasks/get": get_task,
    "tasks/update": update_task,
    "tasks/cancel": cancel_task,
}
