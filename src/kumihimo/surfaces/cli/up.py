"""`kumi up`: the host process, in the foreground or on its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec.structs import replace

from kumihimo.settings import ServerSection, Settings
from kumihimo.surfaces.cli.complaints import complain
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import config_option, global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way

if TYPE_CHECKING:
    from kumihimo.services.hosting import Running

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


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
            click.Option(["--certificate"], metavar="FILE", help="A certificate (PEM), to be reached by TLS."),
            click.Option(["--key"], metavar="FILE", help="Its key (PEM)."),
            click.Option(
                ["--insecure"], is_flag=True, help="Off this machine without TLS: something in front of it encrypts."
            ),
            click.Option(["--detach"], is_flag=True, help="Return once it is up; stop it with `kumi down`."),
            config_option(),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi up\n  kumi up --detach --port 8080\n  kumi up --config ~/servers.yaml",
    )


def _up(host: str, port: int | None, detach: bool, certificate: str | None, key: str | None, insecure: bool) -> int:
    from kumihimo.domain.errors import ConfigError
    from kumihimo.services.hosting import find_running

    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    found = find_running(settings.state_folder)
    if found is not None:
        _tell(flags, settings, "up_already", found)
        return DONE
    given = replace(
        settings.server,
        certificate=_whole(certificate or settings.server.certificate),
        key=_whole(key or settings.server.key),
        insecure=insecure or settings.server.insecure,
    )
    settings = replace(settings, server=given)
    require_guarded(host, given)
    if settings.hub_config is not None:
        from kumihimo.surfaces.hubs.watched_hub import check

        check(settings.folder, settings)
    if detach:
        return _detach(settings, _again(host, port, settings), flags)
    from kumihimo.surfaces.host.process import Host

    try:
        Host(settings).run(host, port, lambda running: _tell(flags, settings, "up", running))
    except ConfigError:
        # Of several that are started at once one comes up; the others find it there, as who comes later does.
        found = find_running(settings.state_folder)
        if found is None:
            raise
        _tell(flags, settings, "up_already", found)
    return DONE


def require_guarded(host: str, server: ServerSection) -> None:
    """Nothing listens off this machine without TLS unless somebody said that it may."""
    from kumihimo.domain.errors import ConfigError

    for file in (server.certificate, server.key):
        if file is not None and not Path(file).expanduser().is_file():
            raise ConfigError("[server]", "bad_setting", reason=f"there is no file {file}")
    if server.certificate is None and not server.insecure and host not in _LOOPBACK:
        raise ConfigError("--host", "open_door", address=host)


def _whole(file: str | None) -> str | None:
    """A path that means the same in another folder: what goes on without us is not in this one."""
    return None if file is None else str(Path(file).expanduser().absolute())


def _again(host: str, port: int | None, settings: Settings) -> list[str]:
    """What was said, for the process that goes on without us."""
    server = settings.server
    options = {
        "--port": port, "--certificate": server.certificate, "--key": server.key, "--config": settings.hub_config,
    }  # fmt: skip
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return ["--host", host, *words, *(["--insecure"] if server.insecure else [])]


def _detach(settings: Settings, arguments: list[str], flags: dict[str, Any]) -> int:
    from kumihimo.domain.errors import StartFailed
    from kumihimo.services.hosting import LOG, ensure

    try:
        found = ensure(settings, arguments)
    except StartFailed as error:
        told = {"log": settings.state_folder / LOG, "reason": error.facts["reason"] or "-"}
        complain(said("up_failed", settings.language).format(**told), settings.language)
        return FAILED
    _tell(flags, settings, "up_detached", found)
    return DONE


def _tell(flags: dict[str, Any], settings: Settings, key: str, running: Running) -> None:
    """Where it is, as soon as it answers there."""
    if flags.get("json"):
        told = {"url": running.url, "pid": running.process.pid, "tokenFile": str(settings.token_file)}
        print(msgspec.json.encode(told).decode(), flush=True)
    else:
        print(said(key, settings.language).format(url=running.url), flush=True)
