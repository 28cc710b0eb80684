"""`kumi group run`: agents of a group, all at once."""

from __future__ import annotations

from typing import Any

import click

from kumihimo.domain.errors import InvalidValue
from kumihimo.operations.groups import AgentToPlace, RunAgents
from kumihimo.operations.groups import run as run_operation
from kumihimo.surfaces.cli.grouping import show
from kumihimo.surfaces.cli.parameters import long_text
from kumihimo.surfaces.cli.program import global_options
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "run",
        callback=_run,
        params=[
            click.Argument(["group"], metavar="GROUP"),
            click.Option(["--role"], multiple=True, required=True, metavar="R", help="Who does it; repeat it for more."),
            click.Option(
                ["--prompt"], multiple=True, required=True, metavar="TEXT|-|@FILE",
                help="What is to be done: one for each role, or one for all.",
            ),
            click.Option(["--dir", "directory"], metavar="DIR", help="The folder to work in; the project's if left out."),
            click.Option(["--timeout-ms"], type=int, metavar="N", help="After so long a run is ended."),
            click.Option(["--worktree"], is_flag=True, help="Each in a git worktree of its own."),
            click.Option(["--host"], metavar="H", help="Where they are to run: a host's name, id or label."),
            click.Option(["--wait"], is_flag=True, help="Wait until all of them are done."),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n"
        "  kumi group run grp-1763251200-1a2b --role coder --prompt 'Fix the login' --role writer --prompt 'Document it'\n"
        "  kumi group run grp-1763251200-1a2b --role coder --role reviewer --prompt @task.md --wait",
    )  # fmt: skip


def _run(
    group: str,
    role: tuple[str, ...],
    prompt: tuple[str, ...],
    directory: str | None,
    timeout_ms: int | None,
    worktree: bool,
    host: str | None,
    wait: bool,
) -> int:
    prompts = [long_text(text, "prompt") for text in prompt]
    if len(prompts) == 1:
        prompts *= len(role)
    if len(prompts) != len(role):
        raise InvalidValue("prompt", "not_one_for_each", roles=len(role), prompts=len(prompts))
    agents = [
        AgentToPlace(role=who, prompt=what, working_directory=directory, timeout_ms=timeout_ms, worktree=worktree)
        for who, what in zip(role, prompts, strict=True)
    ]
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    return show(flags, run_operation, RunAgents(group=group, agents=agents, host=host), wait=wait)
