"""How long an answer may be kept, and for whom, as its server says (`ttlMs`, `cacheScope`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct

Scope = Literal["public", "private"]
# A day: what is said to be good for longer is asked for again then.
_MOST_MS = 24 * 60 * 60 * 1000


class Freshness(Struct, frozen=True):
    """`seconds` is None where nothing was said. What is private is for whoever has asked, and nobody else."""

    seconds: float | None = None
    scope: Scope = "private"


def freshness_of(answer: Mapping[str, Any]) -> Freshness:
    """A time that is none says nothing; one that is over before it begins is none at all."""
    told: object = answer.get("ttlMs")
    seconds: float | None = None
    if isinstance(told, int | float) and not isinstance(told, bool):
        seconds = min(max(told, 0), _MOST_MS) / 1000
    return Freshness(seconds, "public" if answer.get("cacheScope") == "public" else "private")


def freshness_of_all(pages: Iterable[Freshness]) -> Freshness:
    """What is put together from several answers is as good as the worst of them."""
    known = list(pages)
    times = [page.seconds for page in known if page.seconds is not None]
    public = bool(known) and all(page.scope == "public" for page in known)
    return Freshness(min(times) if times else None, "public" if public else "private")
