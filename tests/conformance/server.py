"""The server that the conformance suite is run against: `python tests/conformance/server.py PORT`."""

import sys
from collections.abc import Sequence

import uvicorn
from content_fixtures import CONTENT_TOOLS, PROMPTS, RESOURCES, TEMPLATES
from input_fixtures import INPUT_PROMPTS, INPUT_TOOLS
from task_fixtures import TASK_TOOLS, TASKS

from kumihimo.wire.catalog import Catalog
from kumihimo.wire.completion import Completion, CompletionArgument, CompletionContext, Reference
from kumihimo.wire.http import HttpServer
from kumihimo.wire.implementation import Implementation
from kumihimo.wire.request import Request
from kumihimo.wire.server import Server


def complete(
    request: Request, reference: Reference, argument: CompletionArgument, context: CompletionContext
) -> Completion:
    words: Sequence[str] = ("paris", "park", "party", "test")
    return Completion([word for word in words if word.startswith(argument.value)])


def build() -> Server:
    catalog = Catalog(
        tools=[*CONTENT_TOOLS, *INPUT_TOOLS, *TASK_TOOLS],
        resources=RESOURCES,
        templates=TEMPLATES,
        prompts=[*PROMPTS, *INPUT_PROMPTS],
    )
    info = Implementation(name="kumihimo-conformance", version="1.0.0", title="Conformance fixtures")
    return Server(info, catalog, instructions="Fixtures of the conformance suite.", complete=complete, tasks=TASKS)


if __name__ == "__main__":
    uvicorn.run(HttpServer(build()), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
