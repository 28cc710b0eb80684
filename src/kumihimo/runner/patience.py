"""Patience: who is not to be started for a while. A pair whose instance failed cools down, longer each time; a client whose
vendor has named the end of a limit is parked until then. It is kept on disk: a Runner that is started anew waits on."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from kumihimo.runner import files
from kumihimo.runner.backoff import after
from kumihimo.runner.pair import Pair

FIRST_SECONDS = 60.0
MOST_SECONDS = 3600.0
# No limit of any vendor lasts longer than a week; what says so was misread.
LONGEST_PARKING = timedelta(days=8)


class _Cooling(Struct, frozen=True):
    failures: int
    until: datetime


class _Kept(Struct):
    pairs: dict[str, _Cooling] = msgspec.field(default_factory=dict[str, _Cooling])
    clients: dict[str, datetime] = msgspec.field(default_factory=dict[str, datetime])


class Patience:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._kept = _read(file)

    def failed(self, pair: Pair, now: datetime) -> float:
        """How many seconds the pair is left alone."""
        known = self._kept.pairs.get(_key(pair))
        failures = (known.failures if known else 0) + 1
        seconds = after(failures, FIRST_SECONDS, MOST_SECONDS)
        self._kept.pairs[_key(pair)] = _Cooling(failures, now + timedelta(seconds=seconds))
        return seconds

    def succeeded(self, pair: Pair) -> None:
        self._kept.pairs.pop(_key(pair), None)

    def park(self, client: str, until: datetime, now: datetime) -> datetime:
        """Until when it is parked."""
        until = self._kept.clients[client] = min(until, now + LONGEST_PARKING)
        return until

    def holds(self, pair: Pair, client: str | None, now: datetime) -> bool:
        """Whether it is too early to start this; of an unknown client nothing is known."""
        return self.until(pair, client, now) > now

    def until(self, pair: Pair, client: str | None, now: datetime) -> datetime:
        """When this may be started: now, or later."""
        cooling = self._kept.pairs.get(_key(pair))
        parked = self._kept.clients.get(client, now) if client is not None else now
        return max(now, parked, cooling.until if cooling else now)

    def keep(self) -> None:
        """Write it down. OSError where there is no room for it."""
        files.write(self._file, msgspec.json.encode(self._kept))


def _key(pair: Pair) -> str:
    return f"{pair.agent_id} {pair.project_id}"


def _read(file: Path) -> _Kept:
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Kept)
    except (OSError, msgspec.DecodeError):
        # Whoever has forgotten begins with the shortest wait.
        return _Kept()
