"""`kumi completion SHELL`: the script that makes a shell complete our verbs, flags and ids; and the answers that it asks for."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from kumihimo.surfaces.cli.program import PROGRAM, Root, global_options
from kumihimo.surfaces.cli.verbs import Way

SHELLS = ("bash", "zsh", "fish")
# By this variable a shell asks: how it is spelled and what is wanted, as in `bash_complete`.
VARIABLE = "_KUMI_COMPLETE"


def command(way: Way) -> click.Command:
    return click.Command(
        way.words,
        callback=_print_script,
        params=[click.Argument(["shell"], type=click.Choice(SHELLS)), *global_options()],
        help=way.help,
        epilog="\b\nExamples:\n  kumi completion bash >> ~/.bashrc\n  kumi completion zsh > ~/.zfunc/_kumi\n"
        "  kumi completion fish > ~/.config/fish/completions/kumi.fish",
    )


def answer(asked: str) -> int:
    """What a shell wants to know when somebody presses Tab. Whatever goes wrong, nobody wants to read it there."""
    from click.shell_completion import shell_complete

    flags: dict[str, Any] = {}
    return shell_complete(_Completing(flags), {"obj": flags}, PROGRAM, VARIABLE, asked)


def _print_script(shell: str) -> None:
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "every shell that the argument takes has a class"
    script = kind(Root({}), {}, PROGRAM, VARIABLE).source()
    asked: dict[str, Any] = click.get_current_context().find_root().obj
    print(msgspec.json.encode({"shell": shell, "script": script}).decode() if asked.get("json") else script)


class _Completing(Root):
    """The program, but its arguments know what may stand in their place."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _knowing(super().get_command(ctx, cmd_name))


def _knowing(found: click.Command | None) -> click.Command | None:
    from kumihimo.surfaces.cli.completion_values import values_of

    if found is None:
        return None
    if isinstance(found, click.Group):
        inner = found.get_command
        found.get_command = lambda ctx, cmd_name: _knowing(inner(ctx, cmd_name))
    for parameter in found.params:
        values = values_of(parameter)
        if values is not None:
            parameter.shell_complete = values
    return found
