"""`Retry-After`: when a server wants to be asked again."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST = 366 * 86_400.0
"""Nobody means more, and enough digits would be infinity, which can't be told as milliseconds."""


def seconds_until(told: str) -> float | None:
    """Seconds, or a date. None where it says nothing that can be understood."""
    text = told.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), _LONGEST)
    try:
        seconds = (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        # TypeError: a date without a zone. OverflowError: a year, a day or a zone of too many digits.
        return None
    return min(max(0.0, seconds), _LONGEST)
