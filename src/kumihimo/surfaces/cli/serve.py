"""`kumi mcp serve`: toolsets over MCP on standard input and output."""

from __future__ import annotations

from typing import Any

import click

from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "serve",
        callback=_serve,
        params=[
            click.Option(["--toolset"], metavar="NAME[,NAME]", help="What to offer; editor if left out."),
            click.Option(["--agent-id"], metavar="A", help="The agent of a resident server."),
            click.Option(
                ["--expose"],
                type=click.Choice(["search", "all"]),
                help="Of the hub: whether its servers' tools are listed.",
            ),
            config_option(),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi mcp serve\n  kumi mcp serve --toolset runner,worker,manager\n"
        "  kumi mcp serve --toolset resident --agent-id agt_4k\n  kumi mcp serve --toolset hub --expose all",
    )


def _serve(toolset: str | None, agent_id: str | None, expose: str | None) -> int:
    from kumihimo.surfaces.mcp.stdio import serve
    from kumihimo.toolsets.registry import names_of

    flags: dict[str, Any] = click.get_current_context().find_root().obj
    names = names_of(toolset)
    if "resident" in names and agent_id is None:
        raise click.UsageError("a resident server needs --agent-id", click.get_current_context())
    return serve(settings_of(flags), names, agent_id, expose)
