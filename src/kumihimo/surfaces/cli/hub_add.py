"""`kumi hub add`: a server into the configuration."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from kumihimo.domain.errors import InvalidValue
from kumihimo.settings import Settings
from kumihimo.surfaces.cli.exit_codes import DONE
from kumihimo.surfaces.cli.hub_files import file_to_write, told
from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        "add",
        callback=_add,
        params=[
            click.Argument(["name"], metavar="NAME"),
            click.Argument(["argv"], metavar="[-- COMMAND ARGS...]", nargs=-1),
            click.Option(["--url"], metavar="URL", help="A server that is there already: http(s):// or ws(s)://."),
            click.Option(
                ["--transport"], type=click.Choice(["http", "sse", "websocket"]), help="How to speak to a URL."
            ),
            click.Option(["--env"], multiple=True, metavar="K=V", help="For a command: a variable it gets."),
            click.Option(["--header"], multiple=True, metavar="K=V", help="For a URL: a header of every request."),
            config_option(),
            *global_options(),
        ],
        help=f"{way.help}\n\nSecrets are better named than written: --header 'Authorization=Bearer ${{API_KEY}}'.",
        epilog="\b\nExamples:\n  kumi hub add files -- npx -y @modelcontextprotocol/server-filesystem .\n"
        "  kumi hub add api --url http://localhost:8080/mcp --header 'Authorization=Bearer ${API_KEY}'",
    )


def _add(
    name: str, argv: tuple[str, ...], url: str | None, transport: str | None, env: Sequence[str], header: Sequence[str]
) -> int:
    from kumihimo.hub.configuration_writing import add_server

    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    if bool(argv) == bool(url):
        raise click.UsageError("a server has a command (-- COMMAND ARGS) or a --url", click.get_current_context())
    entry: dict[str, Any] = (
        {"transport": transport or _transport(str(url)), "url": url, "headers": _pairs("header", header)}
        if url
        else {"transport": "stdio", "command": argv[0], "args": list(argv[1:]), "env": _pairs("env", env)}
    )
    entry = {key: value for key, value in entry.items() if value not in ({}, [])}
    file = file_to_write(settings)
    _check(name, entry, settings, file)
    add_server(file, name, entry)
    told("hub_added", name, file, flags)
    return DONE


def _transport(url: str) -> str:
    return "websocket" if url.startswith(("ws://", "wss://")) else "http"


def _pairs(flag: str, given: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in given:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise InvalidValue(flag, "malformed", reason=f"'{pair[:60]}' is not NAME=VALUE")
        pairs[key] = value
    return pairs


def _check(name: str, entry: dict[str, Any], settings: Settings, file: Path) -> None:
    """What the hub would not take is not written."""
    from kumihimo.hub.configuration import Options
    from kumihimo.hub.configuration_file import define

    define({"name": name, **entry}, Options(), os.environ, settings.folder, where=lambda _: str(file))
