"""`kumi group sequential`: agents of a group stage by stage, from a plan in a file."""

from __future__ import annotations

from typing import Any, cast

import click
import msgspec

from kumihimo.domain.errors import InvalidValue
from kumihimo.operations.groups import RunStages
from kumihimo.operations.groups import plan as plan_operation
from kumihimo.surfaces.cli.grouping import show
from kumihimo.surfaces.cli.parameters import file_text
from kumihimo.surfaces.cli.program import global_options
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "sequential",
        callback=_plan,
        params=[
            click.Argument(["group"], metavar="GROUP"),
            click.Argument(["plan"], metavar="PLAN.json"),
            click.Option(["--on-failure"], type=click.Choice(["continue", "stop"]), help="After a stage that failed."),
            click.Option(["--host"], metavar="H", help="Where they are to run: a host's name, id or label."),
            click.Option(["--wait"], is_flag=True, help="Wait until the last stage is done."),
            *global_options(),
        ],
        help=f"{way.help} The plan is what run_sequential takes: "
        '{"stages": [{"tasks": [{"role": "coder", "prompt": "..."}]}]}; `-` reads it from standard input.',
        epilog="\b\nExamples:\n  kumi group sequential grp-1763251200-1a2b plan.json --wait",
    )


def _plan(group: str, plan: str, on_failure: str | None, host: str | None, wait: bool) -> int:
    try:
        told: object = msgspec.json.decode(file_text(plan))
    except msgspec.DecodeError as error:
        raise InvalidValue(plan, "malformed", reason=str(error)[:200]) from None
    if not isinstance(told, list | dict):
        raise InvalidValue(plan, "malformed", reason="neither an object with `stages` nor a list of them")
    values: dict[str, Any] = {"stages": told} if isinstance(told, list) else cast("dict[str, Any]", told)
    values.pop("groupId", None)
    values["group"] = group
    if "onFailure" in values:
        values["on_failure"] = values.pop("onFailure")
    if on_failure:
        values["on_failure"] = on_failure
    if host:
        values["host"] = host
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    arguments: RunStages = plan_operation.read(values)
    return show(flags, plan_operation, arguments, wait=wait)
