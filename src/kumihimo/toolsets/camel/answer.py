"""What every shape of this dialect is."""

from __future__ import annotations

from msgspec import Struct


class Answer(Struct, frozen=True, rename="camel", kw_only=True):
    """A shape on the wire."""
