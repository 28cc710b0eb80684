"""`kumi open`: a link into the dashboard that is good once, printed, and opened where there is a browser."""

from __future__ import annotations

import os
import sys
from typing import Any

import click
import msgspec

from kumihimo.settings import Settings
from kumihimo.surfaces.cli.complaints import complain
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way


def command(way: Way) -> click.Command:
    return click.Command(
        way.words,
        callback=_open,
        params=[
            click.Option(["--print"], is_flag=True, help="Only print the link; open no browser."),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi open\n  kumi open --print\n  kumi open --json",
    )


def _open(**options: bool) -> int:
    from kumihimo.domain.errors import StartFailed
    from kumihimo.services.hosting import LOG, ensure
    from kumihimo.surfaces.http.codes import Codes

    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    try:
        found = ensure(settings)
    except StartFailed as error:
        told = {"log": settings.state_folder / LOG, "reason": error.facts["reason"] or "-"}
        complain(said("up_failed", settings.language).format(**told), settings.language)
        return FAILED
    url = f"{found.reachable}/login?code={Codes(settings.state_folder).make()}"
    if flags.get("json"):
        print(msgspec.json.encode({"url": url}).decode())
        return DONE
    print(said("open", settings.language).format(url=url))
    if not options["print"] and _has_screen():
        _show(url, settings)
    return DONE


def _has_screen() -> bool:
    """Whether a browser would be seen: not over a line to another machine, and not where nobody looks."""
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform == "darwin" or any(name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _show(url: str, settings: Settings) -> None:
    import webbrowser

    if not webbrowser.open(url):
        complain(said("no_browser", settings.language), settings.language)
