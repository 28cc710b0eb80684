"""`kumi session exec`: start the worker of a session in this terminal."""

from __future__ import annotations

from typing import Any

import click

from kumihimo.services.host_name import host_id
from kumihimo.services.hosting import ensure
from kumihimo.surfaces.cli.invocation import call_of
from kumihimo.surfaces.cli.program import global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "exec",
        callback=_exec,
        params=[click.Argument(["session"], metavar="SESSION"), *global_options()],
        help=way.help,
        epilog="\b\nExamples:\n  kumi session exec 5\n  kumi session exec exec_4k",
    )


def _exec(session: str) -> int:
    from kumihimo.supervisor.attended import AttendedRun

    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    call = call_of(settings)
    try:
        # The agent reaches our MCP there.
        running = ensure(settings)
        run = AttendedRun(settings, call.board, host_id(settings.state_folder), running.url)
        return run.run(call.place, session)
    finally:
        call.close()
