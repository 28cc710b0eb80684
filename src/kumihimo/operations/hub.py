"""The hub: the tools, prompts and resources of other MCP servers, behind one door."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, field

from kumihimo.domain.errors import UpstreamNotFound, UpstreamRefused
from kumihimo.hub.results import Answer
from kumihimo.operations.operation import Arguments, Call, Nothing, Shape, operation

if TYPE_CHECKING:
    from kumihimo.hub.desk import Desk
    from kumihimo.hub.relay import Done, Relay
    from kumihimo.hub.tools import Tool

R = TypeVar("R")
Json = dict[str, Any]
_Server = Annotated[str | None, Meta(description="Only those of this server.")]
_Params = Annotated[Json, Meta(description="Its arguments, by their names; hub_describe shows which.")]
_TimeoutMs = Annotated[
    Annotated[int, Meta(ge=1)] | None,
    Meta(description="How long each try may take; the server's own time if left out."),
]


class SearchTools(Arguments, frozen=True):
    query: Annotated[str | None, Meta(description="Words that are in its name or description; all if left out.")] = None
    server: _Server = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="How many to answer at most.")] = 50


class NameTool(Arguments, frozen=True):
    tool: Annotated[str, Meta(description="server:tool, or the tool's own name where one server has it.")]


class CallTool(NameTool, frozen=True):
    params: _Params = field(default_factory=dict[str, Any])
    timeout_ms: _TimeoutMs = None


class BatchedCall(Arguments, frozen=True):
    tool: str
    params: Json = field(default_factory=dict[str, Any])
    timeout_ms: _TimeoutMs = None


class CallTools(Arguments, frozen=True):
    calls: Annotated[list[BatchedCall], Meta(max_length=1000, description="What to call, each by itself.")]
    max_parallel: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="How many at once; the hub's own number if left out.")
    ] = None


class OfServer(Arguments, frozen=True):
    server: _Server = None


class GetPrompt(Arguments, frozen=True):
    server: Annotated[str, Meta(description="The server that has it.")]
    name: Annotated[str, Meta(description="The name of the prompt.")]
    args: Annotated[Json, Meta(description="What fills it.")] = field(default_factory=dict[str, Any])


class ReadResource(Arguments, frozen=True):
    server: Annotated[str, Meta(description="The server that has it.")]
    uri: Annotated[str, Meta(description="Its address.")]


class ServerState(Shape, frozen=True):
    name: str
    transport: str
    state: str
    in_flight: int = 0
    starts: int = 0
    error: str | None = None


class Servers(Shape, frozen=True):
    """`problem` is what is wrong with the files that name them, where they were changed and can't be read."""

    servers: list[ServerState]
    problem: str | None = None


class FoundTool(Shape, frozen=True):
    name: str
    server: str
    tool: str
    description: str
    read_only: bool = False


class Unreached(Shape, frozen=True):
    server: str
    error: str


class FoundTools(Shape, frozen=True):
    """`unreachable` are servers whose tools are not among them, since they could not be asked."""

    tools: list[FoundTool]
    unreachable: list[Unreached] = field(default_factory=list[Unreached])


class ToolDetail(Shape, frozen=True):
    name: str
    server: str
    tool: str
    description: str
    version: str
    input_schema: Any
    output_schema: Any = None
    annotations: Json | None = None


class Outcomes(Shape, frozen=True):
    results: list[Answer]


class Prompts(Shape, frozen=True):
    prompts: list[Json]


class FilledPrompt(Shape, frozen=True, kw_only=True):
    server: str
    name: str
    description: str | None = None
    messages: list[Any]


class Resources(Shape, frozen=True):
    resources: list[Json]


class Contents(Shape, frozen=True):
    server: str
    uri: str
    contents: list[Json]


class ServerUse(Shape, frozen=True):
    name: str
    state: str
    tools: int
    schema_tokens: int
    calls: int
    cached: int
    retries: int
    milliseconds: float
    errors: dict[str, int]


class Use(Shape, frozen=True):
    """`budget` is how many tokens the schemas may take together before it is said that they take too many."""

    servers: list[ServerUse]
    tools: int
    schema_tokens: int
    budget: int
    over_budget: bool


class ServerTest(Shape, frozen=True):
    name: str
    ok: bool
    milliseconds: float
    tools: int = 0
    error: str | None = None


class ServerTests(Shape, frozen=True):
    servers: list[ServerTest]


@operation("hub.servers", Nothing, Servers, reads=True)
async def servers(call: Call, _: Nothing) -> Servers:
    """The MCP servers behind the hub and the state of each. A server is started when it is first needed."""
    return Servers(servers=msgspec.convert(call.desk.servers(), list[ServerState]), problem=call.desk.problem)


@operation("hub.search", SearchTools, FoundTools, UpstreamRefused, reads=True)
async def search(call: Call, arguments: SearchTools) -> FoundTools:
    """Find tools of the servers behind the hub by words, the best first."""
    found = await _told(call.desk.search(arguments.query, arguments.server, arguments.limit))
    return FoundTools(
        tools=[
            FoundTool(
                name=tool.name,
                server=tool.server,
                tool=tool.short_name,
                description=tool.description,
                read_only=tool.read_only,
            )
            for tool in found
        ],
        # Of a server that alone was asked for it is the answer that it could not be.
        unreachable=_unreached(call.desk) if arguments.server is None else [],
    )


def _unreached(desk: Desk) -> list[Unreached]:
    states = msgspec.convert(desk.servers(), list[ServerState])
    return [Unreached(server=it.name, error=it.error) for it in states if it.error is not None]


@operation("hub.describe", NameTool, ToolDetail, UpstreamRefused, reads=True)
async def describe(call: Call, arguments: NameTool) -> ToolDetail:
    """One tool with what it takes and what it answers."""
    return _detail(await _told(call.desk.describe(arguments.tool)))


def _relay_call(desk: Desk, arguments: CallTool, done: Done) -> Relay | None:
    call = desk.new_call(arguments.tool, arguments.params, arguments.timeout_ms)
    return desk.relay_quickly(call, done)


@operation("hub.call", CallTool, Answer, UpstreamRefused, destructive=True, relay=_relay_call)
async def call_(call: Call, arguments: CallTool) -> Answer:
    """Call a tool of a server behind the hub. The arguments are checked before anything is sent; a call that may have
    changed something is never sent twice."""
    return await call.desk.call(arguments.tool, arguments.params, arguments.timeout_ms)


@operation("hub.batch", CallTools, Outcomes, UpstreamRefused, destructive=True)
async def batch(call: Call, arguments: CallTools) -> Outcomes:
    """Call several tools at once. One result for each, in order, whatever becomes of the others."""
    calls = [{"tool": it.tool, "params": it.params, "timeout_ms": it.timeout_ms} for it in arguments.calls]
    return Outcomes(results=await call.desk.batch(calls, arguments.max_parallel))


@operation("hub.prompts", OfServer, Prompts, UpstreamRefused, reads=True)
async def prompts(call: Call, arguments: OfServer) -> Prompts:
    """The prompts of the servers behind the hub."""
    return Prompts(prompts=await _told(call.desk.prompts(arguments.server)))


@operation("hub.get_prompt", GetPrompt, FilledPrompt, UpstreamRefused, reads=True)
async def get_prompt(call: Call, arguments: GetPrompt) -> FilledPrompt:
    """One prompt of a server, filled in."""
    found = await _told(call.desk.get_prompt(arguments.server, arguments.name, arguments.args))
    return FilledPrompt(
        server=arguments.server,
        name=arguments.name,
        description=told if isinstance(told := found.get("description"), str) else None,
        messages=found["messages"],
    )


@operation("hub.resources", OfServer, Resources, UpstreamRefused, reads=True)
async def resources(call: Call, arguments: OfServer) -> Resources:
    """The resources of the servers behind the hub."""
    return Resources(resources=await _told(call.desk.resources(arguments.server)))


@operation("hub.read_resource", ReadResource, Contents, UpstreamRefused, reads=True)
async def read_resource(call: Call, arguments: ReadResource) -> Contents:
    """What a resource of a server holds."""
    contents = await _told(call.desk.read_resource(arguments.server, arguments.uri))
    return Contents(server=arguments.server, uri=arguments.uri, contents=contents)


@operation("hub.stats", Nothing, Use, UpstreamRefused, reads=True)
async def stats(call: Call, _: Nothing) -> Use:
    """How the servers were used in this project since a day, and about how many tokens their tools take in a list that a
    model is shown."""
    told = await _told(call.desk.stats())
    tokens = sum(it["schemaTokens"] for it in told)
    budget = call.settings.hub.budget
    return Use(
        servers=msgspec.convert(told, list[ServerUse]),
        tools=sum(it["tools"] for it in told),
        schema_tokens=tokens,
        budget=budget,
        over_budget=tokens > budget,
    )


@operation("hub.test", OfServer, ServerTests, UpstreamRefused, reads=True)
async def test(call: Call, arguments: OfServer) -> ServerTests:
    """Connect to every server, or to one, and ask for its tools."""
    tried = await _told(call.desk.test(arguments.server))
    return ServerTests(
        servers=[
            ServerTest(name=it.name, ok=it.error is None, milliseconds=it.milliseconds, tools=it.tools, error=it.error)
            for it in tried
        ]
    )


def _detail(tool: Tool) -> ToolDetail:
    hints = tool.definition.get("annotations")
    return ToolDetail(
        name=tool.name,
        server=tool.server,
        tool=tool.short_name,
        description=tool.description,
        version=tool.version,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=hints if isinstance(hints, dict) else None,  # pyright: ignore[reportUnknownArgumentType]
    )


async def _told(answer: Awaitable[R]) -> R:
    """What the hub raises, as an error of ours."""
    from kumihimo.hub.errors import HubError

    try:
        return await answer
    except HubError as error:
        kind = UpstreamNotFound if error.missing else UpstreamRefused
        raise kind(error.code, error.message, retryable=error.retryable) from error


OPERATIONS = (
    servers,
    search,
    describe,
    call_,
    batch,
    prompts,
    get_prompt,
    resources,
    read_resource,
    stats,
    test,
)
