"""`kumi run logs`: what an agent has printed, also while it goes on."""

from __future__ import annotations

import sys
import time
from typing import Any

import click
import msgspec

from kumihimo.surfaces.cli.drawing import safe
from kumihimo.surfaces.cli.exit_codes import DONE
from kumihimo.surfaces.cli.invocation import call_of
from kumihimo.surfaces.cli.program import global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way

_PAGE = 1_000
# Streams ring no bell: there would be too many rings. A person does not see the difference.
_LOOK_SECONDS = 0.1


def command(way: Way) -> click.Command:
    return click.Command(
        "logs",
        callback=_logs,
        params=[
            click.Argument(["run"], metavar="RUN"),
            click.Option(["-f", "--follow"], is_flag=True, help="Go on until the run is over."),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi run logs exec_4k\n  kumi run logs -f exec_4k --json",
    )


def _logs(run: str, follow: bool) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    call = call_of(settings_of(flags))
    cursor: str | None = None
    try:
        while True:
            page = call.board.outputs.read(run, cursor, _PAGE)
            cursor = page.next_cursor
            for line in page.lines:
                sys.stdout.write(_line(line, bool(flags.get("json"))))
            sys.stdout.flush()
            if page.done or not (page.lines or follow):
                return DONE
            if not page.lines:
                time.sleep(_LOOK_SECONDS)
    finally:
        call.close()


def _line(line: str, as_json: bool) -> str:
    """With --json each line of the agent is one JSON string: what it prints need not be JSON itself."""
    return (msgspec.json.encode({"line": line}).decode() if as_json else safe(line)) + "\n"
