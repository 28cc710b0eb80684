"""`kumi down`: stops the host process of this home, and only that."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import click

from kumihimo.surfaces.cli.complaints import complain
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way

_PATIENCE_SECONDS = 15.0


def command(way: Way) -> click.Command:
    return click.Command(
        way.words, callback=_down, params=global_options(), help=way.help, epilog="\b\nExamples:\n  kumi down"
    )


def _down() -> int:
    from kumihimo.services.hosting import find_running

    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    found = find_running(settings.state_folder)
    if found is None:
        print(said("not_up", settings.language))
        return DONE
    os.kill(found.process.pid, signal.SIGTERM)
    drain = settings.host.drain_seconds
    if drain:
        print(said("draining", settings.language).format(seconds=round(drain)), file=sys.stderr)
    deadline = time.monotonic() + _PATIENCE_SECONDS + drain
    while found.alive:
        if time.monotonic() > deadline:
            complain(f"pid {found.process.pid} did not end", settings.language)
            return FAILED
        time.sleep(0.02)
    print(said("down", settings.language))
    return DONE
