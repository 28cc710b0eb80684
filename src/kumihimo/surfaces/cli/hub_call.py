"""`kumi hub call`: one tool of a server behind the hub."""

from __future__ import annotations

import sys
from typing import Any, Literal, cast

import click
import msgspec

from kumihimo.domain.errors import InvalidValue
from kumihimo.hub.results import Answer
from kumihimo.operations.hub import CallTool
from kumihimo.operations.hub import call_ as operation
from kumihimo.surfaces.cli import drawing
from kumihimo.surfaces.cli.complaints import complain
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.invocation import call_of, carry_out
from kumihimo.surfaces.cli.parameters import file_text, long_text
from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "call",
        callback=_call,
        params=[
            click.Argument(["tool"], metavar="SERVER:TOOL"),
            click.Argument(["params"], metavar="JSON", default="{}"),
            click.Option(["--timeout-ms"], type=click.IntRange(1), metavar="N", help="How long each try may take."),
            config_option(),
            *global_options(),
        ],
        help=way.help,
        epilog='\b\nExamples:\n  kumi hub call time:get_current_time \'{"timezone": "Asia/Tokyo"}\'\n'
        "  kumi hub call files:write_file @arguments.json --json",
    )


def _call(tool: str, params: str, timeout_ms: int | None) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    if not is_text(tool):
        raise InvalidValue("SERVER:TOOL", "not_unicode")
    given = read_json(params, "params")
    if not isinstance(given, dict):
        raise InvalidValue("params", "malformed", reason="the arguments of a tool are an object, by their names")
    call = call_of(settings)
    try:
        arguments = CallTool(tool=tool, params=cast("dict[str, Any]", given), timeout_ms=timeout_ms)
        outcome: Answer = carry_out(operation, call, arguments)
    finally:
        call.close()
    if flags.get("json"):
        sys.stdout.write(msgspec.json.encode(outcome).decode() + "\n")
    elif outcome.error is not None:
        complain(f"{outcome.error.code}: {outcome.error.message}", settings.language)
    else:
        show(outcome)
    return DONE if outcome.success else FAILED


def read_json(text: str, name: str) -> Any:
    """JSON as it was typed, from a file (`@FILE`) or from standard input (`-`)."""
    # No JSON begins so: a file that is not there is missed, and not taken for one.
    given = file_text(text[1:]) if text.startswith("@") else long_text(text)
    if not is_text(given):
        raise InvalidValue(name, "not_unicode")
    try:
        return msgspec.json.decode(given)
    except (msgspec.DecodeError, RecursionError) as error:
        if given == text:
            raise InvalidValue(name, "typed_json", reason=str(error)) from None
        raise InvalidValue(name, "malformed", reason=f"it is not JSON: {error}") from None


def is_text(word: str) -> bool:
    """What was typed may be any bytes."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def show(outcome: Answer) -> None:
    """Texts as texts, and anything else as the JSON that it is."""
    data = msgspec.json.encode(outcome.data)
    try:
        texts = [block.text for block in msgspec.json.decode(data, type=list[_Text])]
    except msgspec.ValidationError:
        texts = [_only_text(data) or msgspec.json.format(data, indent=2).decode()]
    for text in texts:
        print("\n".join(drawing.safe(line) for line in text.splitlines()))


def _only_text(data: bytes) -> str | None:
    """Many tools answer an object with one text in it: that is what they say."""
    value = msgspec.json.decode(data)
    found: list[Any] = list(cast("dict[str, Any]", value).values()) if isinstance(value, dict) else []
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


class _Text(msgspec.Struct):
    """A block that is nothing but text."""

    text: str
    type: Literal["text"] = "text"
