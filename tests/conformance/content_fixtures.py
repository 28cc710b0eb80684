"""Fixtures of the conformance suite that answer with content: tools, resources and prompts."""

import asyncio

import msgspec
from msgspec import Raw

from kumihimo.wire.content import Audio, BlobContents, Embedded, Image, Text, TextContents
from kumihimo.wire.prompt import Prompt, PromptArgument, PromptMessage, PromptResult
from kumihimo.wire.request import Request
from kumihimo.wire.resource import Resource, ResourceTemplate
from kumihimo.wire.tool import Tool, ToolRefusal, ToolResult

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def simple_text(request: Request, arguments: Raw) -> str:
    return "This is a simple text response for testing."


def image_content(request: Request, arguments: Raw) -> ToolResult:
    return ToolResult([Image(data=PNG, mime_type="image/png")])


def audio_content(request: Request, arguments: Raw) -> ToolResult:
    return ToolResult([Audio(data=WAV, mime_type="audio/wav")])


def embedded_resource(request: Request, arguments: Raw) -> ToolResult:
    contents = TextContents("test://embedded-resource", "This is an embedded resource content.", "text/plain")
    return ToolResult([Embedded(resource=contents)])


def multiple_content_types(request: Request, arguments: Raw) -> ToolResult:
    contents = TextContents("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return ToolResult(
        [
            Text(text="Multiple content types test:"),
            Image(data=PNG, mime_type="image/png"),
            Embedded(resource=contents),
        ]
    )


def error_handling(request: Request, arguments: Raw) -> str:
    raise ToolRefusal("This tool intentionally returns an error for testing")


async def tool_with_logging(request: Request, arguments: Raw) -> str:
    await request.log("info", "Tool execution started")
    await asyncio.sleep(0.05)
    await request.log("info", "Tool processing data")
    await asyncio.sleep(0.05)
    await request.log("info", "Tool execution completed")
    return "Logged three messages"


async def logging_tool(request: Request, arguments: Raw) -> str:
    await request.log("info", "A message for those who asked for one")
    return "Logged"


async def tool_with_progress(request: Request, arguments: Raw) -> str:
    for progress in (0, 50, 100):
        await request.progress(progress, 100)
        await asyncio.sleep(0.05)
    return "Progressed to 100"


async def reconnection(request: Request, arguments: Raw) -> str:
    await request.close_stream()
    await asyncio.sleep(0.1)
    return "Answered after the stream was closed"


def schema_tool(request: Request, arguments: Raw) -> str:
    return "The schema is what matters"


def trigger_tool_change(request: Request, arguments: Raw) -> str:
    request.server.changes.tools()
    return "Announced a change of the tools"


def trigger_prompt_change(request: Request, arguments: Raw) -> str:
    request.server.changes.prompts()
    return "Announced a change of the prompts"


def greet(request: Request, arguments: Raw) -> str:
    return f"Hello, {msgspec.json.decode(arguments).get('name', 'World')}!"


def custom_headers(request: Request, arguments: Raw) -> str:
    return arguments_text(arguments)


def arguments_text(arguments: Raw) -> str:
    return bytes(arguments).decode()


CONTENT_TOOLS = [
    Tool(name="test_simple_text", description="Returns text", handler=simple_text),
    Tool(name="test_image_content", description="Returns a picture", handler=image_content),
    Tool(name="test_audio_content", description="Returns a sound", handler=audio_content),
    Tool(name="test_embedded_resource", description="Returns a resource", handler=embedded_resource),
    Tool(
        name="test_multiple_content_types",
        description="Returns text, a picture and a resource",
        handler=multiple_content_types,
    ),
    Tool(name="test_error_handling", description="Always refuses", handler=error_handling),
    Tool(name="test_tool_with_logging", description="Logs while it works", handler=tool_with_logging),
    Tool(name="test_logging_tool", description="Logs once", handler=logging_tool),
    Tool(name="test_tool_with_progress", description="Reports progress", handler=tool_with_progress),
    Tool(name="test_reconnection", description="Closes its stream while it works", handler=reconnection),
    Tool(
        name="json_schema_2020_12_tool",
        description="Has a schema of JSON Schema 2020-12",
        input_schema=SCHEMA_2020_12,
        handler=schema_tool,
    ),
    Tool(name="test_trigger_tool_change", description="Announces new tools", handler=trigger_tool_change),
    Tool(name="test_trigger_prompt_change", description="Announces new prompts", handler=trigger_prompt_change),
    Tool(
        name="greet",
        description="Greets",
        input_schema={"type": "object", "properties": {"name": {"type": "string"}}},
        handler=greet,
    ),
    Tool(
        name="test_custom_headers",
        description="Mirrors an argument into a header",
        input_schema={
            "type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "count": {"type": "integer", "x-mcp-header": "Count"},
            },
            "required": ["region"],
        },
        handler=custom_headers,
    ),
]


def static_text(request: Request, uri: str) -> TextContents:
    return TextContents(uri, "This is the content of the static text resource.", "text/plain")


def static_binary(request: Request, uri: str) -> BlobContents:
    return BlobContents(uri, PNG, "image/png")


def watched(request: Request, uri: str) -> TextContents:
    return TextContents(uri, "Watched", "text/plain")


def templated(request: Request, uri: str, values: dict[str, str]) -> TextContents:
    data = {"id": values["id"], "templateTest": True, "data": f"Data for ID: {values['id']}"}
    return TextContents(uri, msgspec.json.encode(data).decode(), "application/json")


RESOURCES = [
    Resource(
        uri="test://static-text",
        name="static-text",
        description="Text that does not change",
        mime_type="text/plain",
        handler=static_text,
    ),
    Resource(
        uri="test://static-binary",
        name="static-binary",
        description="A picture that does not change",
        mime_type="image/png",
        handler=static_binary,
    ),
    Resource(
        uri="test://watched-resource",
        name="watched-resource",
        description="Text to subscribe to",
        mime_type="text/plain",
        handler=watched,
    ),
]
TEMPLATES = [
    ResourceTemplate(
        uri_template="test://template/{id}/data",
        name="template",
        description="Data of an id",
        mime_type="application/json",
        handler=templated,
    )
]


def simple_prompt(request: Request, arguments: dict[str, str]) -> str:
    return "This is a simple prompt for testing."


def prompt_with_arguments(request: Request, arguments: dict[str, str]) -> str:
    return f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"


def prompt_with_embedded_resource(request: Request, arguments: dict[str, str]) -> PromptResult:
    contents = TextContents(arguments["resourceUri"], "Embedded resource content for testing.", "text/plain")
    return PromptResult(
        [
            PromptMessage("user", Embedded(resource=contents)),
            PromptMessage("user", Text(text="Please process the embedded resource above.")),
        ]
    )


def prompt_with_image(request: Request, arguments: dict[str, str]) -> PromptResult:
    return PromptResult(
        [
            PromptMessage("user", Image(data=PNG, mime_type="image/png")),
            PromptMessage("user", Text(text="Please analyze the image above.")),
        ]
    )


PROMPTS = [
    Prompt(name="test_simple_prompt", description="One message", handler=simple_prompt),
    Prompt(
        name="test_prompt_with_arguments",
        description="A message with two arguments",
        arguments=(
            PromptArgument("arg1", "The first", required=True),
            PromptArgument("arg2", "The second", required=True),
        ),
        handler=prompt_with_arguments,
    ),
    Prompt(
        name="test_prompt_with_embedded_resource",
        description="A resource and a message",
        arguments=(PromptArgument("resourceUri", "Which resource", required=True),),
        handler=prompt_with_embedded_resource,
    ),
    Prompt(name="test_prompt_with_image", description="A picture and a message", handler=prompt_with_image),
]
