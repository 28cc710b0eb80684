"""`kumi worker run`: a worker on a task. Without --exec only the command that starts it."""

from __future__ import annotations

import sys
import time
from typing import Any

import click
import msgspec

from kumihimo.operations.operation import Call
from kumihimo.operations.workers import CommandWorker, RunWorker, WaitForWorker
from kumihimo.operations.workers import command as command_operation
from kumihimo.operations.workers import run as run_operation
from kumihimo.operations.workers import wait as wait_operation
from kumihimo.surfaces.cli import drawing
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.invocation import call_of
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way
from kumihimo.surfaces.cli.waiting import wait as wait_for
from kumihimo.toolsets.camel.presenting import present

_PAGE = 1_000
_LOOK_SECONDS = 0.1


def command(way: Way) -> click.Command:
    return click.Command(
        "run",
        callback=_run,
        params=[
            click.Argument(["task"], metavar="TASK"),
            click.Option(["--agent"], metavar="A", help="Who works; the task's assignee if left out, else coder."),
            click.Option(["--client"], metavar="C", help="The agent CLI to use instead of the agent's own."),
            click.Option(["--exec", "execute"], is_flag=True, help="Start it here and now, and follow it."),
            click.Option(["--detach"], is_flag=True, help="Start it and let it work by itself."),
            click.Option(["--no-worktree"], is_flag=True, help="In the project's folder."),
            click.Option(["--auto"], is_flag=True, help="Let it do everything without asking."),
            click.Option(
                ["--skip-dod"], is_flag=True, help="Don't run the checks; that they were skipped is on record."
            ),
            click.Option(["--timeout-ms"], type=int, metavar="N", help="After so long it is ended."),
            click.Option(
                ["--host"], metavar="H", help="With --detach or --exec: where it is to run, by name, id or label."
            ),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi worker run 3\n  kumi worker run 3 --exec\n"
        "  kumi worker run 3 --agent coder --client codex --detach --json",
    )


def _run(
    task: str,
    agent: str | None,
    client: str | None,
    execute: bool,
    detach: bool,
    no_worktree: bool,
    auto: bool,
    skip_dod: bool,
    timeout_ms: int | None,
    host: str | None,
) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    call = call_of(settings)
    try:
        if not (execute or detach):
            asked = CommandWorker(
                task=task, agent=agent, client=client, auto=auto, worktree=not no_worktree, skip_dod=skip_dod
            )
            return _print_command(call, asked, flags)
        begun = run_operation(
            call,
            RunWorker(
                task=task, agent=agent, client=client, auto=auto, worktree=not no_worktree, skip_dod=skip_dod,
                timeout_ms=timeout_ms, host=host,
            ),
        )  # fmt: skip
        _warn(call, begun.execution.id, flags)
        if detach:
            return _print(run_operation.answer, begun, "worker_started", flags)
        return _follow(call, task, begun.execution.id, flags)
    finally:
        call.close()


def _print_command(call: Call, arguments: CommandWorker, flags: dict[str, Any]) -> int:
    commanded = command_operation(call, arguments)
    _warn(call, commanded.worker.execution.id, flags)
    if flags.get("json"):
        return _print(command_operation.answer, commanded, "", flags)
    # Alone on stdout, so that it can be given to a shell.
    print(commanded.command)
    return DONE


def _warn(call: Call, run: str, flags: dict[str, Any]) -> None:
    """Nobody is held back who has not said what it writes; who starts it should know."""
    tasks = call.board.workers.undeclared_beside(run)
    if tasks:
        named = ", ".join(f"#{number}" for number in tasks)
        print(said("worker_beside", flags["language"]).format(tasks=named), file=sys.stderr)


def _follow(call: Call, task: str, run: str, flags: dict[str, Any]) -> int:
    """Its stream while it lasts, and then what came of it."""
    cursor: str | None = None
    while True:
        page = call.board.outputs.read(run, cursor, _PAGE)
        cursor = page.next_cursor
        if not flags.get("json"):
            for line in page.lines:
                sys.stderr.write(drawing.safe(line) + "\n")
        if page.done:
            break
        if not page.lines:
            time.sleep(_LOOK_SECONDS)
    waited = wait_for(wait_operation, call, WaitForWorker(task=task))
    _print(wait_operation.answer, waited, "worker_waited", flags)
    good = waited.session.execution.status == "completed" and waited.session.task.status != "blocked"
    return DONE if good else FAILED


def _print(declared: Any, value: Any, key: str, flags: dict[str, Any]) -> int:
    answer = present(declared, value)
    if flags.get("json"):
        sys.stdout.write(msgspec.json.encode(answer).decode() + "\n")
    else:
        words = {name: drawing.cell(cell) for name, cell in msgspec.to_builtins(answer).items()}
        print(said(key, flags["language"]).format_map(words))
        if words.get("taskReason", "-") != "-":
            print(f"  {words['taskReason']}")
    return DONE
