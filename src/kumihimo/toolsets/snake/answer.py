"""What every answer of this dialect is."""

from __future__ import annotations

from msgspec import Struct


class Shape(Struct, frozen=True, kw_only=True):
    """A part of an answer."""


class Answer(Struct, frozen=True, kw_only=True):
    """An answer: what was asked for was done."""

    success: bool = True
