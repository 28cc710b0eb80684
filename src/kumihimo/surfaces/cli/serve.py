"""`kumi mcp serve`: toolsets over MCP on standard input and output."""

from __future__ import annotations

import sys
from typing import Any

import click

from kumihimo.settings import Language
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "serve",
        callback=_serve,
        params=[
            click.Option(["--toolset"], metavar="NAME[,NAME]", help="What to offer; lead,editor if left out."),
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
        raise click.UsageError("a resident server needs --agent-id.", click.get_current_context())
    settings = settings_of(flags)
    if agent_id is not None:
        warn_of_idle_agent(names, settings.language)
    return serve(settings, names, agent_id, expose)


def warn_of_idle_agent(names: list[str], language: Language) -> None:
    """Only a resident server is somebody: the others serve whoever calls them, and never ask for this one."""
    if "resident" not in names:
        print(f"{said('warning', language)}: {said('idle_agent', language)}", file=sys.stderr)
