"""A server on our own wire that speaks every revision, and wants to know something before it does its work."""

import sys
from typing import Any

from msgspec import Raw

from kumihimo.wire import stdio
from kumihimo.wire.catalog import Catalog
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.request import Request
from kumihimo.wire.server import Server
from kumihimo.wire.tool import Tool

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


async def greet(request: Request, arguments: Raw) -> Any:
    answer = await request.elicit("What is your name?", SCHEMA)
    with open(sys.argv[1], "a") as file:  # noqa: ASYNC230, PTH123 - written once, for a test to count
        file.write("greeted\n")
    return f"{answer.action}: {(answer.content or {}).get('name')}"


if __name__ == "__main__":
    catalog = Catalog([Tool(name="greet", handler=greet)])
    sys.exit(stdio.serve(Server(Implementation("asking", "1"), catalog)))
