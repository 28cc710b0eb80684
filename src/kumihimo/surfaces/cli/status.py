"""`kumi status`: what is going on at a glance; with --watch as it goes on, until `q` or Ctrl-C."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import Any

import click
import msgspec

from kumihimo.operations.catalogue import named
from kumihimo.operations.operation import Call
from kumihimo.settings import Language
from kumihimo.store.bell import bell_of
from kumihimo.supervisor.wake import Wake
from kumihimo.surfaces.cli import status_drawing
from kumihimo.surfaces.cli.exit_codes import DONE
from kumihimo.surfaces.cli.invocation import call_of, perform
from kumihimo.surfaces.cli.program import global_options, settings_of
from kumihimo.surfaces.cli.status_phrases import said
from kumihimo.surfaces.cli.status_scene import Scene, look
from kumihimo.surfaces.cli.verbs import Verb, Way

# Times go on by themselves: once a second while somebody works, seldom otherwise.
_TICK_SECONDS = 1.0
_IDLE_SECONDS = 15.0
# A breath between two looks: what happens in bursts is shown in one go.
_BREATH_SECONDS = 0.2
# Alone: arrows and other keys begin with it.
_ESCAPE = b"\x1b"
Show = Callable[[Scene], None]


def command(way: Way) -> click.Command:
    return click.Command(
        way.words,
        callback=_status,
        params=[
            click.Option(["--watch"], is_flag=True, help="Show it as it goes on; q or Ctrl-C ends."),
            *global_options(),
        ],
        help=way.help,
        epilog="\b\nExamples:\n  kumi status\n  kumi status --json\n  kumi status --watch\n  kumi status --watch --json",
    )


def _status(watch: bool) -> int:
    flags: dict[str, Any] = click.get_current_context().find_root().obj
    if not watch:
        return perform(Verb("status", "board.status"), named("board.status"), {}, flags)
    settings = settings_of(flags)
    call = call_of(settings)
    try:
        if flags.get("json"):
            _follow(call, printing(_json, lambda scene: scene))
        elif sys.stdout.isatty() and sys.stdin.isatty():
            with _live(settings.language) as show:
                _follow(call, show, keys=sys.stdin.fileno())
        else:
            _follow(call, printing(lambda scene: _block(scene, settings.language), lambda scene: scene.outline))
    except KeyboardInterrupt:
        pass
    finally:
        call.close()
    return DONE


def _follow(call: Call, show: Show, keys: int | None = None) -> None:
    """Look whenever something happened, and now and then for what is not in the log; until `q` is typed."""
    named_project = call.settings.project
    project = call.board.projects.show(named_project).id if named_project else None
    with closing(Wake(lambda: bell_of(call.board.store))) as wake:
        while True:
            wake.clear()
            scene = look(call.board, project, _midnight())
            show(scene)
            waits = ((_BREATH_SECONDS, ()), (_TICK_SECONDS if scene.working else _IDLE_SECONDS, wake.descriptors))
            if any(_quits(seconds, descriptors, keys) for seconds, descriptors in waits):
                return


def _quits(seconds: float, descriptors: tuple[int, ...], keys: int | None) -> bool:
    """Wait for any of these, at most so long. Whether somebody typed that it is enough."""
    # Not select(): that knows only the first 1,024 descriptors.
    poll = select.poll()
    for descriptor in (*descriptors, *(() if keys is None else (keys,))):
        poll.register(descriptor, select.POLLIN)
    ready = {descriptor for descriptor, _ in poll.poll(seconds * 1000)}
    if keys is None or keys not in ready:
        return False
    typed = os.read(keys, 64)
    return not typed or typed == _ESCAPE or b"q" in typed.lower()


def _midnight() -> datetime:
    """When today began, where this is looked at."""
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)


def printing(text_of: Callable[[Scene], str], essence: Callable[[Scene], Scene]) -> Show:
    """Print only what differs from the last in what matters."""
    last: list[Scene] = []

    def show(scene: Scene) -> None:
        now = essence(scene)
        if last != [now]:
            last[:] = [now]
            sys.stdout.write(text_of(scene) + "\n")
            sys.stdout.flush()

    return show


def _json(scene: Scene) -> str:
    return msgspec.json.encode(scene).decode()


def _block(scene: Scene, language: Language) -> str:
    now = datetime.now().astimezone()
    drawn = status_drawing.lines(scene, now, language)
    return "\n".join([f"── {now:%Y-%m-%d %H:%M:%S}", *(line.text for line in drawn)]) + "\n"


@contextmanager
def _live(language: Language) -> Generator[Show]:
    """The whole terminal, given back as it was. Keys come one by one; Ctrl-C still interrupts."""
    from rich.live import Live
    from rich.text import Text

    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    tty.setcbreak(keyboard)
    try:
        with Live(screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:

            def show(scene: Scene) -> None:
                drawn = status_drawing.lines(scene, datetime.now().astimezone(), language)
                drawn = drawn[: max(1, live.console.height - 1)]
                text = Text(no_wrap=True, overflow="ellipsis")
                for line in drawn:
                    text.append(line.text + "\n", line.style)
                text.append(said("keys", language), "dim")
                live.update(text, refresh=True)

            yield show
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
