"""A server with small tools, and messages for it."""

import asyncio
import sys
from typing import Any

import msgspec
from msgspec import Raw

from kumihimo.wire.catalog import Catalog
from kumihimo.wire.completion import Completion
from kumihimo.wire.content import Text, TextContents
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.inputs import Elicit, Sample, SampleMessage
from kumihimo.wire.prompt import Prompt, PromptArgument
from kumihimo.wire.request import Request
from kumihimo.wire.resource import Resource, ResourceResult, ResourceTemplate
from kumihimo.wire.server import Server
from kumihimo.wire.tool import Tool, ToolAnnotations, ToolRefusal, ToolResult

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
BOUND = 20.0
"""Seconds after which a test gives up on something that should have come at once."""
NAME_FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class Add(msgspec.Struct, forbid_unknown_fields=True):
    a: int
    b: int


def add(request: Request, arguments: Raw) -> bytes:
    try:
        numbers = msgspec.json.decode(arguments, type=Add)
    except msgspec.ValidationError as error:
        raise ToolRefusal(str(error)) from None
    return b'{"sum":%d}' % (numbers.a + numbers.b)


def read_sum(caller: Any, arguments: Raw) -> bytes:
    numbers = msgspec.json.decode(arguments, type=Add)
    return b'{"sum":%d}' % (numbers.a + numbers.b)


async def add_later(request: Request, arguments: Raw) -> bytes:
    await asyncio.sleep(0)
    return add(request, arguments)


STARTED: list[str] = []
CANCELLED: list[str] = []


async def wait(request: Request, arguments: Raw) -> str:
    """Never ends by itself."""
    STARTED.append(str(request.id))
    await request.log("info", f"waiting {request.id}")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        CANCELLED.append(str(request.id))
        print(f"cancelled {request.id}", file=sys.stderr, flush=True)
        raise
    return "never"


async def quiet_wait(request: Request, arguments: Raw) -> str:
    """Never ends by itself, and says nothing."""
    STARTED.append(str(request.id))
    try:
        await asyncio.Event().wait()
    finally:
        CANCELLED.append(str(request.id))
    return "never"


async def report(request: Request, arguments: Raw) -> str:
    for step in range(3):
        await request.progress(step, 2, f"step {step}")
    await request.log("debug", "for those who asked for it")
    await request.log("warning", {"careful": True}, "reporter")
    return "reported"


async def flood(request: Request, arguments: Raw) -> str:
    count = msgspec.json.decode(arguments)["count"]
    for step in range(count):
        await request.progress(step, count, "x" * 1000)
    return "flooded"


async def ask_name(request: Request, arguments: Raw) -> str:
    answer = await request.elicit("Your name?", NAME_FORM, key="name")
    return f"{answer.action}: {(answer.content or {}).get('name')}"


async def ask_two(request: Request, arguments: Raw) -> str:
    first = await request.elicit("First?", NAME_FORM, key="first")
    answers = await request.ask(
        {"second": Elicit("Second?", NAME_FORM), "model": Sample([SampleMessage("user", Text(text="Hi"))], 10)}
    )
    return f"{(first.content or {}).get('name')} then {len(answers)}"


def who(request: Request, arguments: Raw) -> ToolResult:
    shown = {"caller": request.caller, "revision": request.revision.name, "client": request.client.name}
    return ToolResult(structured=shown, meta={"example/kept": True})


def fail(request: Request, arguments: Raw) -> str:
    raise KeyError("a fault of ours")


async def stray(request: Request, arguments: Raw) -> str:
    inner = asyncio.ensure_future(asyncio.Event().wait())
    asyncio.get_running_loop().call_soon(inner.cancel)
    await inner
    return "never"


def pretty(request: Request, arguments: Raw) -> Raw:
    return Raw(b'{\n  "lines": [\n    1\n  ]\n}')


def echo(request: Request, arguments: Raw) -> Raw:
    return arguments


def change(request: Request, arguments: Raw) -> str:
    request.server.changes.tools()
    request.server.changes.resource("note://one")
    return "changed"


async def change_often(request: Request, arguments: Raw) -> str:
    for _ in range(100_000):
        request.server.changes.tools()
    return "changed often"


def read_note(request: Request, uri: str) -> TextContents:
    return TextContents(uri, "one", "text/plain")


async def read_numbered(request: Request, uri: str, values: dict[str, str]) -> ResourceResult:
    return ResourceResult([TextContents(uri, f"number {values['number']}")], ttl_ms=60_000, cache_scope="public")


def greet(request: Request, arguments: dict[str, str]) -> str:
    return f"Greet {arguments['who']}."


def complete(request: Request, reference: Any, argument: Any, context: Any) -> Completion:
    return Completion([f"{argument.value}{number}" for number in range(150)])


TOOLS = [
    Tool(
        name="add",
        title="Add",
        description="Adds two integers",
        input_schema=msgspec.json.schema(Add)["$defs"]["Add"],
        output_schema={"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
        annotations=ToolAnnotations(read_only_hint=True),
        handler=add,
        read=read_sum,
    ),
    Tool(name="add_later", description="Adds, but not at once", handler=add_later),
    Tool(name="wait", description="Waits for ever", handler=wait),
    Tool(name="quiet_wait", description="Waits for ever in silence", handler=quiet_wait),
    Tool(name="report", description="Reports progress and logs", handler=report),
    Tool(name="flood", description="Reports a lot of progress", handler=flood),
    Tool(name="ask_name", description="Asks for a name", handler=ask_name),
    Tool(name="ask_two", description="Asks in two rounds", handler=ask_two),
    Tool(name="who", description="Says who calls", handler=who),
    Tool(name="fail", description="Has a fault", handler=fail),
    Tool(name="stray", description="Waits for something that is cancelled", handler=stray),
    Tool(name="pretty", description="Answers JSON on several lines", handler=pretty),
    Tool(name="echo", description="Answers its arguments", handler=echo),
    Tool(name="change", description="Announces changes", handler=change),
    Tool(name="change_often", description="Announces a lot of changes", handler=change_often),
]


def build(**options: Any) -> Server:
    catalog = Catalog(
        tools=TOOLS,
        resources=[Resource(uri="note://one", name="one", handler=read_note)],
        templates=[ResourceTemplate(uri_template="note://{number}/text", name="numbered", handler=read_numbered)],
        prompts=[Prompt(name="greet", arguments=(PromptArgument("who", required=True),), handler=greet)],
        page_size=options.pop("page_size", None),
    )
    options.setdefault("complete", complete)
    options.setdefault("on_fault", lambda *_: None)
    return Server(
        Implementation(name="kit", version="1"), options.pop("catalog", catalog), instructions="Hi", **options
    )


def call(request_id: int | str, tool: str, arguments: Any = None, **params: Any) -> dict[str, Any]:
    return request(request_id, "tools/call", name=tool, arguments={} if arguments is None else arguments, **params)


def request(request_id: int | str, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def initialize(revision: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
    client = {"name": "hand", "version": "1"}
    return request("init", "initialize", protocolVersion=revision, capabilities=capabilities, clientInfo=client)


def stateless_meta(**capabilities: Any) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }


def stateless(message: dict[str, Any], **capabilities: Any) -> dict[str, Any]:
    """A request as a client of 2026-07-28 sends it."""
    params = message.get("params", {})
    meta = stateless_meta(**capabilities) | params.get("_meta", {})
    return message | {"params": params | {"_meta": meta}}
