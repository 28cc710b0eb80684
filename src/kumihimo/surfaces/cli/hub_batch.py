"""`kumi hub batch`: many tools at once, from a file."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from kumihimo.domain.errors import InvalidValue
from kumihimo.operations.hub import Outcomes
from kumihimo.operations.hub import batch as operation
from kumihimo.surfaces.cli import drawing
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.invocation import call_of, carry_out
from kumihimo.surfaces.cli.parameters import file_text
from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "batch",
        callback=_batch,
        params=[
            click.Argument(["file"], metavar="FILE|-"),
            click.Option(["--max-parallel"], type=click.IntRange(1), metavar="N", help="How many at once."),
            config_option(),
            *global_options(),
        ],
        help=f"{way.help}\n\nThe file is a JSON array of {{tool, params}}. A call that failed is a failure of the command; "
        "the others are carried out all the same.",
        epilog="\b\nExamples:\n  kumi hub batch calls.json\n"
        '  echo \'[{"tool": "time:now", "params": {}}]\' | kumi hub batch - --json',
    )


def _batch(file: str, max_parallel: int | None) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    try:
        calls = msgspec.json.decode(file_text(file))
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidValue("file", "malformed", reason=f"it is not JSON: {error}") from None
    if not isinstance(calls, list):
        raise InvalidValue("file", "malformed", reason="a batch is a JSON array of {tool, params}")
    arguments = operation.read({"calls": calls, **({} if max_parallel is None else {"max_parallel": max_parallel})})
    call = call_of(settings)
    try:
        answer: Outcomes = carry_out(operation, call, arguments)
    finally:
        call.close()
    if flags.get("json"):
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    else:
        rows = [
            {
                "tool": asked.tool,
                "status": "ok" if result.success else "failed",
                "milliseconds": result.metadata.execution_time,
                "outcome": f"{result.error.code}: {result.error.message}" if result.error else _brief(result.data),
            }
            for asked, result in zip(arguments.calls, answer.results, strict=True)
        ]
        drawing.table(rows, ("tool", "status", "milliseconds", "outcome"), settings.language)
    return DONE if all(result.success for result in answer.results) else FAILED


def _brief(data: Any) -> str:
    return msgspec.json.encode(data).decode()[:120]
