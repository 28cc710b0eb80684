"""Toolsets as catalogs of `wire`: every tool with its schemas and hints, every resource, every prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from kumihimo.domain.errors import InvalidValue, KumihimoError, NotFound
from kumihimo.operations.operation import Caller
from kumihimo.services.board import Board
from kumihimo.surfaces.mcp.door import Door
from kumihimo.surfaces.mcp.refusals import refuse, refuse_arguments
from kumihimo.surfaces.mcp.schemas import ToolSchemas, find_kept, group_of, make_schema
from kumihimo.toolsets.toolset import (
    SESSION_TOKEN,
    Prompt,
    Resource,
    Tool,
    Toolset,
    arguments_type,
    wire_names,
)
from kumihimo.wire import prompt as wire_prompt
from kumihimo.wire import resource as wire_resource
from kumihimo.wire import tool as wire_tool
from kumihimo.wire.catalog import Catalog
from kumihimo.wire.content import TextContents
from kumihimo.wire.errors import InvalidParams, ResourceNotFound
from kumihimo.wire.request import Request
from kumihimo.wire.schema import EncodedSchema

if TYPE_CHECKING:
    from kumihimo.surfaces.mcp.exposing import Exposed
    from kumihimo.wire.peer import Cancellable

# Tools that may take longer than a client likes to hold a call open.
TASKS = frozenset({"wait_agent"})
NOTHING: Mapping[str, str] = {}

CallerOf = Callable[[Board, Any], Caller]
"""From the board and what the transport made of the client to who calls."""


class Bench:
    """Makes the catalog of one server: these toolsets, behind this door, for callers known in this way."""

    def __init__(self, door: Door, toolsets: list[Toolset], caller_of: CallerOf) -> None:
        self._door = door
        self._toolsets = toolsets
        self._caller_of = caller_of

    def catalog(self, exposed: Exposed | None = None) -> Catalog:
        """`exposed` are tools of other servers to show beside ours."""
        resources = [(toolset, resource) for toolset in self._toolsets for resource in toolset.resources]
        return Catalog(
            self._tools(),
            [self._resource(*pair) for pair in resources if not pair[1].is_template],
            [self._template(*pair) for pair in resources if pair[1].is_template],
            [self._prompt(toolset, prompt) for toolset in self._toolsets for prompt in toolset.prompts],
            live_tools=exposed.tools if exposed else None,
        )

    def calls(self) -> dict[str, ToolCall | MergedCall]:
        """Every tool once, by its name."""
        named: dict[str, list[ToolCall]] = {}
        for toolset in self._toolsets:
            for tool in toolset.tools:
                named.setdefault(tool.name, []).append(ToolCall(self._door, toolset, tool, self._caller_of))
        return {name: found[0] if len(found) == 1 else MergedCall(found) for name, found in named.items()}

    def _tools(self) -> list[wire_tool.Tool]:
        """Every tool once; old names after them, callable and not listed."""
        made = {name: call.definition() for name, call in self.calls().items()}
        old = {alias: tool.name for toolset in self._toolsets for tool in toolset.tools for alias in tool.aliases}
        hidden = [replace(made[name], name=alias, listed=False) for alias, name in old.items() if alias not in made]
        return [*made.values(), *hidden]

    def _resource(self, toolset: Toolset, resource: Resource) -> wire_resource.Resource:
        return wire_resource.Resource(
            uri=resource.uri,
            name=resource.name,
            description=resource.description,
            mime_type=resource.mime_type,
            handler=lambda request, uri: self._read(toolset, resource, request.caller, uri, {}),
        )

    def _template(self, toolset: Toolset, resource: Resource) -> wire_resource.ResourceTemplate:
        return wire_resource.ResourceTemplate(
            uri_template=resource.uri,
            name=resource.name,
            description=resource.description,
            mime_type=resource.mime_type,
            handler=lambda request, uri, values: self._read(toolset, resource, request.caller, uri, values),
        )

    def _read(self, toolset: Toolset, resource: Resource, client: Any, uri: str, values: dict[str, str]) -> Any:
        def read(board: Board) -> TextContents:
            try:
                call = self._door.call(board, self._caller_of(board, client))
                text = resource.read(call, values, self._door.language)
            except NotFound:
                raise ResourceNotFound(uri) from None
            except KumihimoError as error:
                raise refuse(
                    "resident" if toolset.dialect == "snake" else toolset.dialect, error, self._door.language
                ) from None
            return TextContents(uri=uri, text=text, mime_type=resource.mime_type)

        return self._door.perform_reading(read)

    def _prompt(self, toolset: Toolset, prompt: Prompt) -> wire_prompt.Prompt:
        def write(request: Any, values: dict[str, str]) -> Any:
            missing = [name for name, _ in prompt.arguments if name not in values]
            if missing:
                raise InvalidParams(f"Invalid params: the prompt {prompt.name} needs {', '.join(missing)}")

            def work(board: Board) -> str:
                try:
                    return prompt.write(
                        self._door.call(board, self._caller_of(board, request.caller)), values, self._door.language
                    )
                except KumihimoError as error:
                    raise refuse(
                        "resident" if toolset.dialect == "snake" else toolset.dialect, error, self._door.language
                    ) from None

            return self._door.perform_reading(work)

        arguments = tuple(wire_prompt.PromptArgument(name, description, True) for name, description in prompt.arguments)
        return wire_prompt.Prompt(
            name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments, handler=write
        )


class ToolCall:
    """One tool of one toolset, ready to be called. What it needs is loaded at its first call."""

    def __init__(self, door: Door, toolset: Toolset, tool: Tool, caller_of: CallerOf) -> None:
        self.door = door
        self.toolset = toolset
        self.tool = tool
        self._caller_of = caller_of
        self._decode: Callable[[Raw], Any] = self._decode_first
        self._operation: Any = None
        self._names: list[tuple[str, str]] = []
        self._named_alike = False
        self._at_once = False
        self._takes_token = False
        self._encode = msgspec.json.Encoder().encode

    def definition(self) -> wire_tool.Tool:
        operation = self.tool.bound_operation()
        return wire_tool.Tool(
            name=self.tool.name,
            title=self.tool.title,
            description=operation.description,
            input_schema=EncodedSchema(lambda: self.schemas.arguments),
            output_schema=EncodedSchema(lambda: self.schemas.answer),
            annotations=wire_tool.ToolAnnotations(
                title=self.tool.title,
                read_only_hint=operation.reads,
                destructive_hint=operation.destructive,
                idempotent_hint=operation.idempotent,
                open_world_hint=operation.uses_hub,
            ),
            handler=self._handler_of(operation),
            tasks="optional" if self.tool.name in TASKS else "never",
            read=self.read if self.reads_at_once else None,
            relay=self._relay_through_hub if operation.relay is not None else None,
        )

    @property
    def reads_at_once(self) -> bool:
        operation = self.tool.bound_operation()
        return operation.reads and not operation.uses_hub and self.door.does_at_once(operation)

    @property
    def group(self) -> str:
        return group_of(self.toolset.name)

    @cached_property
    def schemas(self) -> ToolSchemas:
        return find_kept(self.group, self.tool.name) or self.make_schemas()

    def make_schemas(self) -> ToolSchemas:
        return ToolSchemas(make_schema(arguments_type(self.tool)), make_schema(self._answer_type()))

    def _answer_type(self) -> Any:
        if self.tool.answer is not None:
            return self.tool.answer
        from kumihimo.toolsets.camel.presenting import answer_type

        return answer_type(self.tool.bound_operation().answer)

    def _handler_of(self, operation: Any) -> Callable[[Request, Raw], Any]:
        if operation.patience is not None:
            return self._wait
        return self._through_hub if operation.uses_hub else self._handle

    def _handle(self, request: Request, arguments: Raw) -> Any:
        return self(request.caller, arguments, self._beside(request) if self.tool.beside else {})

    def _through_hub(self, request: Request, arguments: Raw) -> Any:
        from kumihimo.surfaces.mcp.through_hub import perform

        return perform(self, request, arguments)

    def _relay_through_hub(self, request: Request, arguments: Raw, done: wire_tool.Done) -> Cancellable | None:
        from kumihimo.surfaces.mcp.through_hub import relay

        return relay(self, request, arguments, done)

    def _beside(self, request: Request) -> dict[str, str]:
        """What the client has told beside the arguments."""
        told = request.meta
        return {field: said for field, key in self.tool.beside.items() if isinstance(said := told.get(key), str)}

    def _wait(self, request: Request, arguments: Raw) -> Any:
        from kumihimo.surfaces.mcp.waiting import Wait

        try:
            given = self.decode(arguments)
        except msgspec.DecodeError as error:
            raise refuse_arguments(self.toolset.dialect, str(error)) from None
        return Wait(self, request.caller, given).perform(request)

    def read(self, client: Any, arguments: Raw) -> bytes:
        """The answer of a tool that reads at once, with nothing translated for the client of what goes wrong."""
        return self._answer(self.door.board, client, self._decode(arguments))

    def __call__(self, client: Any, arguments: Raw, beside: Mapping[str, str] = NOTHING) -> Any:
        try:
            given = self.decode(arguments)
        except msgspec.DecodeError as error:
            raise refuse_arguments(self.toolset.dialect, str(error)) from None
        if self._at_once or (self._depends and self._is_short(given)):
            return self._work(self.door.board, client, given, beside)
        return self.door.elsewhere(lambda board: self._work(board, client, given, beside))

    def _is_short(self, given: Any) -> bool:
        try:
            return self.door.does_at_once(self._operation, self.build(given))
        except KumihimoError as error:
            raise refuse(self.toolset.dialect, error, self.door.language) from None

    def _decode_first(self, arguments: Raw) -> Any:
        self._prepare()
        return self._decode(arguments)

    def _prepare(self) -> None:
        self._operation = self.tool.bound_operation()
        self._decode = msgspec.json.Decoder(arguments_type(self.tool)).decode
        self._names = wire_names(self.tool)
        self._named_alike = all(field == name for field, name in self._names)
        self._depends = callable(self._operation.slow)
        self._at_once = not self._depends and self.door.does_at_once(self._operation)
        self._takes_token = self.tool.caller == "session_token"

    def _work(self, board: Board, client: Any, given: Any, beside: Mapping[str, str]) -> bytes:
        try:
            return self._answer(board, client, given, beside)
        except InvalidValue as error:
            raise refuse(self.toolset.dialect, error.called(self.tool.names), self.door.language) from None
        except KumihimoError as error:
            raise refuse(self.toolset.dialect, error, self.door.language) from None

    def _answer(self, board: Board, client: Any, given: Any, beside: Mapping[str, str] = NOTHING) -> bytes:
        operation = self._operation
        caller = self._caller_of(board, client)
        if self._takes_token:
            caller = self._speaker(board, caller, given)
        values = {field: getattr(given, name) for field, name in self._names}
        values.update(beside)
        answer = operation.handler(self.door.call(board, caller), operation.build(values))
        present = self.tool.present
        return self._encode(present(answer, self.door.language) if present else self._present(answer))

    def _speaker(self, board: Board, caller: Caller, given: Any) -> Caller:
        """Who a token speaks for. Who came in for one agent's work can't speak for another, whatever else it knows."""
        token: str | None = getattr(given, SESSION_TOKEN)
        return caller if token is None else caller.speaking_for(self.door.caller_of_token(board, token))

    def decode(self, arguments: Raw) -> Any:
        """The arguments of the tool. msgspec.DecodeError where they are not what its schema says."""
        try:
            return self._decode(arguments)
        except msgspec.DecodeError as error:
            from kumihimo.surfaces.mcp.whole_numbers import whole

            # A schema takes 2.0 for an integer, and some clients write it so.
            with suppress(msgspec.MsgspecError, OverflowError, RecursionError):
                return self._decode(Raw(msgspec.json.encode(whole(msgspec.json.decode(arguments)))))
            raise error

    def take(self, given: Any) -> Any:
        """As `build`, for what goes to no database: any text will do. Where all have the same names it is what was given."""
        if self._named_alike:
            return given
        return self._operation.arguments(**{field: getattr(given, name) for field, name in self._names})

    def build(self, given: Any) -> Any:
        """The operation's own arguments from those of the tool."""
        return self._operation.build({field: getattr(given, name) for field, name in self._names})

    def encode(self, value: Any) -> bytes:
        return self._encode(self._present(value))

    def caller(self, board: Board, client: Any) -> Caller:
        return self._caller_of(board, client)

    def _present(self, value: Any) -> Any:
        if self.tool.present is not None:
            return self.tool.present(value, self.door.language)
        from kumihimo.toolsets.camel.presenting import present

        return present(self._operation.answer, value)


class MergedCall:
    """One name in two toolsets: with a token it is the agent's own, without it is the manager's."""

    def __init__(self, calls: list[ToolCall]) -> None:
        self._own = next(call for call in calls if call.tool.caller == "session_token")
        self._other = next(call for call in calls if call is not self._own)

    def definition(self) -> wire_tool.Tool:
        return replace(
            self._other.definition(),
            input_schema=EncodedSchema(lambda: self.schemas.arguments),
            handler=self._handle,
            read=self._read if self._own.reads_at_once and self._other.reads_at_once else None,
        )

    @property
    def group(self) -> str:
        return group_of(self._own.toolset.name, self._other.toolset.name)

    @cached_property
    def schemas(self) -> ToolSchemas:
        return find_kept(self.group, self._own.tool.name) or self.make_schemas()

    def make_schemas(self) -> ToolSchemas:
        """The answer is the other's."""
        return ToolSchemas(make_schema(self._arguments()), self._other.make_schemas().answer)

    def _read(self, client: Any, arguments: Raw) -> bytes:
        call, given = self._pick(arguments)
        return call.read(client, given)

    def _handle(self, request: Request, arguments: Raw) -> Any:
        call, given = self._pick(arguments)
        return call(request.caller, given)

    def _arguments(self) -> type[msgspec.Struct]:
        """The arguments of both; required is only what both require."""
        own, other = (
            {field.name: field for field in msgspec.structs.fields(arguments_type(call.tool))}
            for call in (self._own, self._other)
        )
        fields: list[Any] = []
        for name, field in {**own, **other}.items():
            if name in own and name in other and own[name].required and other[name].required:
                fields.append((name, field.type))
            else:
                fields.append((name, field.type | None if field.required else field.type, None))
        return msgspec.defstruct(f"{self._own.tool.name}_arguments", fields, forbid_unknown_fields=True, kw_only=True)

    def _pick(self, arguments: Raw) -> tuple[ToolCall, Raw]:
        """Whose call it is, and its arguments there. A token that is null is none."""
        if b'"session_token"' not in bytes(arguments):
            return self._other, arguments
        given = msgspec.json.decode(arguments)
        if given.get(SESSION_TOKEN) is not None:
            return self._own, arguments
        given.pop(SESSION_TOKEN, None)
        return self._other, Raw(msgspec.json.encode(given))
