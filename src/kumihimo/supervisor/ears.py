"""Ears: who is told what a supervisor does, as it does it. They are called in its thread and must not take long."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from kumihimo.domain.host import Awaited


class Ears(Struct, frozen=True):
    """`say` takes what a person should read; `left_behind` which runs are over, for somebody has to look at their traces and
    keep their proof; `streams_grew` that more is known of what agents print; `rung` that something has happened on the
    board, and whether somebody may want a place to be made here; `awaited` now and then what is there for this host, for
    whoever was not told."""

    say: Callable[[str], None]
    left_behind: Callable[[list[str]], None] = lambda _: None
    streams_grew: Callable[[], None] = lambda: None
    rung: Callable[[bool], None] = lambda _: None
    awaited: Callable[[Awaited], None] = lambda _: None
