"""`kumi hub rm`: a server out of the configuration."""

from __future__ import annotations

from typing import Any

import click

from kumihimo.domain.errors import ConfigError
from kumihimo.surfaces.cli.exit_codes import DONE
from kumihimo.surfaces.cli.hub_files import files_of, told
from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "rm",
        callback=_remove,
        params=[click.Argument(["name"], metavar="NAME"), config_option(), *global_options()],
        help=way.help,
        epilog="\b\nExamples:\n  kumi hub rm files",
    )


def _remove(name: str) -> int:
    from kumihimo.hub.configuration_writing import remove_server, servers_in

    flags: dict[str, Any] = click.get_current_context().find_root().obj
    files = files_of(settings_of(flags))
    for file in files:
        if name in servers_in(file):
            remove_server(file, name)
            told("hub_removed", name, file, flags)
            return DONE
    raise ConfigError(
        ", ".join(map(str, files)) or "mcp.config.yaml", "bad_setting", reason=f"No server is called '{name}'"
    )
