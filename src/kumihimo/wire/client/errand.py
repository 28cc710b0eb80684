"""What is asked of a server: the same, however often it has to be sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct

from kumihimo.wire.client.call import OnProgress, OnReady, OnRequest
from kumihimo.wire.jsonrpc import NO_RAW


class Errand(Struct, frozen=True):
    """`fields` and `meta` are JSON without the braces. `named` and `arguments` are what headers may repeat of them.

    `on_input` is asked what the server wants to know first; `offers` is what it may ask for, in the stateless revision.
    `on_ready` hears that a subscription has begun.
    """

    method: str
    fields: bytes = b""
    named: str | None = None
    arguments: Raw = NO_RAW
    on_progress: OnProgress | None = None
    repeatable: bool = False
    meta: bytes = b""
    on_input: OnRequest | None = None
    offers: Mapping[str, Any] | None = None
    on_ready: OnReady | None = None
