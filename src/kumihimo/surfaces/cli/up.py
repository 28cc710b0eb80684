"""`kumi up`: the host process, in the foreground or on its own."""

from __future__ import annotations

from typing import Any

import click

from kumihimo.settings import Settings
from kumihimo.surfaces.cli.complaints import complain
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        way.words,
        callback=_up,
        params=[
            click.Option(
                ["--host"], default="127.0.0.1", metavar="H", help="The address to listen on; loopback if left out."
            ),
            click.Option(
                ["--port"],
                type=click.IntRange(0, 65535),
                metavar="N",
                help="The port; the last one or 9696 if left out.",
            ),
            click.Option(["--detach"], is_flag=True, help="Return once it is up; stop it with `kumi down`."),
            config_option(),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi up\n  kumi up --detach --port 8080\n  kumi up --config ~/servers.yaml",
    )


def _up(host: str, port: int | None, detach: bool) -> int:
    from kumihimo.services.hosting import find_running

    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    found = find_running(settings.state_folder)
    if found is not None:
        print(said("up_already", settings.language).format(url=found.url))
        return DONE
    if settings.hub_config is not None:
        from kumihimo.surfaces.hubs.watched_hub import check

        check(settings.folder, settings)
    if detach:
        given = ["--config", str(settings.hub_config)] if settings.hub_config is not None else []
        return _detach(settings, ["--host", host, *(["--port", str(port)] if port is not None else []), *given])
    from kumihimo.surfaces.http.host import Host

    Host(settings).run(host, port, lambda url: print(said("up", settings.language).format(url=url), flush=True))
    return DONE


def _detach(settings: Settings, arguments: list[str]) -> int:
    from kumihimo.domain.errors import StartFailed
    from kumihimo.services.hosting import LOG, ensure

    try:
        found = ensure(settings, arguments)
    except StartFailed:
        complain(said("up_failed", settings.language).format(log=settings.state_folder / LOG), settings.language)
        return FAILED
    print(said("up", settings.language).format(url=found.url))
    return DONE
