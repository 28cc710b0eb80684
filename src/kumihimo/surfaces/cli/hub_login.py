"""`kumi hub login` and `logout`: at a server on the network that wants to know who we are."""

from __future__ import annotations

import asyncio
import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Any

import click

from kumihimo.domain.errors import ServerNotFound, StoreError, UpstreamRefused
from kumihimo.hub.configuration import Auth, ServerConfig
from kumihimo.hub.configuration_file import load
from kumihimo.hub.places import files_of, project_folder
from kumihimo.operations.servers import hub_folder
from kumihimo.services.references import missing
from kumihimo.settings import Settings
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.invocation import call_of
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way

if TYPE_CHECKING:
    from kumihimo.wire.client.authorization.oauth import OAuth


def command(way: Way) -> click.Command:
    verb = way.words.rpartition(" ")[2]
    options: list[click.Parameter] = []
    if verb == "login":
        options = [click.Option(["--no-browser"], is_flag=True, help="Only print the address, open nothing.")]
    return click.Command(
        verb,
        callback=_log_in if verb == "login" else _log_out,
        params=[click.Argument(["name"], metavar="NAME"), *options, config_option(), *global_options()],
        help=way.help,
        epilog=f"\b\nExamples:\n  kumi hub {verb} github",
    )


def _log_in(name: str, no_browser: bool) -> int:
    settings, config = _found(name)

    def show(url: str) -> None:
        print(said("hub_open", settings.language).format(url=url), file=sys.stderr, flush=True)
        if not no_browser:
            webbrowser.open(url)

    async def log_in() -> bool:
        from kumihimo.hub.logins import authorization_of
        from kumihimo.wire.client.authorization.loopback import loopback

        port = (config.auth or Auth()).redirect_port
        found = authorization_of(config, os.environ, lambda: loopback(show, port=port))
        if found is None:
            return False
        await _carried_out(found)
        return True

    if not asyncio.run(log_in()):
        print(said("hub_no_login", settings.language).format(name=name), file=sys.stderr)
        return FAILED
    print(said("hub_logged_in", settings.language).format(name=name))
    return DONE


async def _carried_out(authorization: OAuth) -> None:
    from kumihimo.wire.client.errors import ClientError

    try:
        await authorization.login()
    except ClientError as error:
        raise UpstreamRefused("PERMISSION_DENIED", str(error)) from error


def _log_out(name: str) -> int:
    settings, config = _found(name)
    from kumihimo.hub.logins import forget_login

    if not forget_login(config, os.environ):
        print(said("hub_no_login", settings.language).format(name=name), file=sys.stderr)
        return FAILED
    print(said("hub_logged_out", settings.language).format(name=name))
    return DONE


def _found(name: str) -> tuple[Settings, ServerConfig]:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    call = call_of(settings)
    try:
        folder, _ = hub_folder(call.board, call.place, settings.folder)
    except StoreError:
        # A login needs no board.
        folder = project_folder(settings.folder)
    finally:
        call.close()
    files = files_of(folder, settings)
    servers = load(files, os.environ, folder).servers
    for definition in servers:
        if definition.name == name:
            return settings, definition.at(folder)
    raise missing(ServerNotFound, name, (definition.name for definition in servers))
