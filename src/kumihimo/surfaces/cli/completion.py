"""`kumi completion SHELL`: the script that makes a shell complete our verbs and flags."""

from __future__ import annotations

from typing import Any

import click

from kumihimo.surfaces.cli.program import PROGRAM, Root, global_options
from kumihimo.surfaces.cli.verbs import Way

SHELLS = ("bash", "zsh", "fish")


def command(way: Way) -> click.Command:
    return click.Command(
        way.words,
        callback=_print_script,
        params=[click.Argument(["shell"], type=click.Choice(SHELLS)), *global_options()],
        help=way.help,
        epilog="\b\nExamples:\n  kumi completion bash >> ~/.bashrc\n  kumi completion zsh > ~/.zfunc/_kumi",
    )


def _print_script(shell: str) -> None:
    from click.shell_completion import get_completion_class

    flags: dict[str, Any] = {}
    kind = get_completion_class(shell)
    assert kind is not None, "every shell that the argument takes has a class"
    print(kind(Root(flags), {}, PROGRAM, "_KUMI_COMPLETE").source())
