"""`kumi group wait`: until every run of a group is done."""

from __future__ import annotations

from typing import Any

import click

from kumihimo.surfaces.cli.grouping import await_runs
from kumihimo.surfaces.cli.invocation import call_of
from kumihimo.surfaces.cli.program import global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "wait",
        callback=_wait,
        params=[
            click.Argument(["group"], metavar="GROUP"),
            click.Option(
                ["--timeout"], type=float, metavar="SECONDS", help="How long to wait; to the end if left out."
            ),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi group wait grp-1763251200-1a2b --timeout 600",
    )


def _wait(group: str, timeout: float | None) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    call = call_of(settings_of(flags))
    try:
        found = call.board.groups.show(group)
        runs = [sight.execution.id for sight in call.board.executions.sights_of(group_id=found.id).items]
        return await_runs(call, runs, None if timeout is None else int(timeout * 1000), flags)
    finally:
        call.close()
