"""`Retry-After`: when a server wants to be asked again."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def seconds_until(told: str) -> float | None:
    """Seconds, or a date. None where it says nothing that can be understood."""
    text = told.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        # TypeError: a date without a zone.
        return None
