"""Calls through the hub: the hub's own answers are in this dialect already."""

from __future__ import annotations

from kumihimo.hub.results import Answer


def answer(it: Answer) -> Answer:
    return it
