"""Calls through the hub: kept as events, with the run that made them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from kumihimo.domain.hub_call import KIND, HubCall
from kumihimo.services.service import Service, command, query
from kumihimo.store.store import Transaction

_decode = msgspec.json.Decoder(HubCall).decode


class HubCalls(Service):
    @command
    def keep(self, transaction: Transaction, calls: Sequence[tuple[str, HubCall]]) -> None:
        """Each with who made it."""
        for actor, call in calls:
            transaction.events.append(call.told, actor)

    @query
    def since(self, transaction: Transaction, moment: datetime, limit: int = 100_000) -> list[HubCall]:
        """The newest ones, the newest first."""
        return [_decode(event.data) for event in transaction.events.newest_of(KIND, moment, limit)]
