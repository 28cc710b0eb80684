"""`kumi run show`: one run, or with --proof everything that is known of it."""

from __future__ import annotations

from typing import Any

import click

from kumihimo.operations.catalogue import named
from kumihimo.surfaces.cli.invocation import perform
from kumihimo.surfaces.cli.program import global_options
from kumihimo.surfaces.cli.verbs import Verb, Way


def command(way: Way) -> click.Command:
    return click.Command(
        "show",
        callback=_show,
        params=[
            click.Argument(["run"], metavar="RUN"),
            click.Option(["--proof"], is_flag=True, help="The evidence: commits, changes, checks, how it ended."),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi run show exec_4k\n  kumi run show exec_4k --proof --json",
    )


def _show(run: str, proof: bool) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    operation = "run.proof" if proof else "run.show"
    return perform(Verb("run show", operation), named(operation), {"run": run}, flags)
