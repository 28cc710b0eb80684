"""A host: a home on a machine, where runs happen. It lives while it renews its lease."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Host(Struct, frozen=True):
    id: str
    name: str
    slots: int
    lease_until: datetime
