"""`kumi down`: stops the host process of this home, and only that."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import click
import msgspec

from kumihimo.settings import Settings
from kumihimo.surfaces.cli.complaints import complain
from kumihimo.surfaces.cli.exit_codes import DONE, FAILED
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.cli.program import global_options, settings_of
from kumihimo.surfaces.cli.verbs import Way

_PATIENCE_SECONDS = 15.0


def command(way: Way) -> click.Command:
    return click.Command(
        way.words,
        callback=_down,
        params=global_options(),
        help=way.help,
        epilog="\b\nExamples:\n  kumi down\n  kumi down --json",
    )


def _down() -> int:
    from kumihimo.services.hosting import find_running

    flags: dict[str, Any] = click.get_current_context().find_root().obj
    settings = settings_of(flags)
    found = find_running(settings.state_folder)
    if found is None:
        _tell(flags, settings, "not_up", None)
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
    _tell(flags, settings, "down", found.process.pid)
    return DONE


def _tell(flags: dict[str, Any], settings: Settings, key: str, pid: int | None) -> None:
    """`pid` is what was stopped; None where there was nothing to stop."""
    if flags.get("json"):
        print(msgspec.json.encode({"stopped": pid is not None, "pid": pid}).decode())
    else:
        print(said(key, settings.language))
