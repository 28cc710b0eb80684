"""What a vendor's error text means: a limit, a login, a right that is missing; and when a limit ends."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from kumihimo.domain.execution import FailureReason
from kumihimo.engine.agents.happenings import Failed

_LONGEST = 2000

# ASCII alone: else letters like the long s count as the ones that they resemble.
_ASCII = re.IGNORECASE | re.ASCII
_LIMIT = re.compile(
    r"""rate.?limit|usage.limit|too.many.requests|\b429\b|quota|resource.?exhausted|hit.your.(\w+.)?limit
    |limit.reached|out.of.extra.usage|retry.?limit.+429""",
    _ASCII | re.VERBOSE,
)
_AUTH = re.compile(
    r"""\b401\b|unauthori[sz]ed|unauthenticated|authentication.(failed|error|required|method)|authentication_
    |invalid.(api.key|x-api-key|auth)|api.key.(not.(valid|found)|is.(missing|invalid)|missing)|missing.api.key|incorrect.api.key
    |not.(logged|signed).in|(please|must|need.to).(run.)?.?/?(log.?in|sign.in|authenticate)|login.required|\blog.in.again
    |no.authentication|auth.method|oauth.token.(has.)?(expired|been.revoked)|token.(has.)?expired|credit.balance|billing
    |set.the.\w*(api_key|token)""",
    _ASCII | re.VERBOSE,
)
_PERMISSION = re.compile(
    r"""\b403\b|forbidden|permission.?denied|permission_error|untrusted|not.(a.)?trusted|cannot.be.used.with.root
    |not.running.in.a.trusted""",
    _ASCII | re.VERBOSE,
)
_STATUS: dict[int, FailureReason] = {401: "auth", 402: "auth", 403: "permission", 407: "auth", 429: "rate_limited"}

_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_SPAN = r"\d+(?:\.\d+)?\s*(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|ms|d|h|m|s)(?![A-Za-z]),?"
_IN = re.compile(
    rf"(?:again|retry|retrying|resets?|reset|wait|available)\s*(?:in|after)?\s*((?:{_SPAN}\s*(?:and\s+)?)+)",
    _ASCII,
)
_ONE = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[dhms])", _ASCII)
_AFTER = re.compile(r"(?:retry[-_ ]?after|retryDelay)\W{1,4}(\d+(?:\.\d+)?)\s*(ms|s)?\b", _ASCII)
_EPOCH = re.compile(r"(?:\||reset\w*\W{1,4}(?:at\W{1,3})?)(\d{10}|\d{13})\b", _ASCII)
_ISO = re.compile(r"\b(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:Z|UTC|[+-]\d\d:?\d\d))", _ASCII)
_CLOCK = re.compile(r"resets?\s+(?:at\s+)?(\d{1,2})(?::(\d\d))?\s*([ap]m)?\s*\(([A-Za-z]+(?:/[A-Za-z_+-]+)*)\)", _ASCII)


def reason_of(message: str, status: int | None = None, otherwise: FailureReason = "exited") -> FailureReason:
    """The reason that a text (and an HTTP status beside it) gives."""
    if status in _STATUS:
        return _STATUS[status]
    head = message[:_LONGEST]
    if _LIMIT.search(head):
        return "rate_limited"
    if _AUTH.search(head):
        return "auth"
    return "permission" if _PERMISSION.search(head) else otherwise


def failure(
    message: str, status: int | None = None, at: datetime | None = None, otherwise: FailureReason = "exited"
) -> Failed:
    """The terminal event for this text. `at` is the time of the line that carries it."""
    reason = reason_of(message, status, otherwise)
    reset_at, reset_after = reset_of(message, at) if reason == "rate_limited" else (None, None)
    return Failed(reason, message[:_LONGEST], reset_at, reset_after)


def reset_of(message: str, at: datetime | None = None) -> tuple[datetime | None, float | None]:
    """When a limit ends: a moment where the text or the line's own time gives one, else seconds from now."""
    head = message[:_LONGEST]
    if found := _EPOCH.search(head):
        return datetime.fromtimestamp(int(found[1][:10]), UTC), None
    if found := _ISO.search(head):
        return _iso(found[1]), None
    seconds = _seconds(head)
    if seconds is not None:
        return (_later(at, seconds), None) if at else (None, seconds)
    if at and (found := _CLOCK.search(head)):
        return _next_clock(found, at), None
    return None, None


def _later(at: datetime, seconds: float) -> datetime | None:
    try:
        return at + timedelta(seconds=seconds)
    except OverflowError:
        return None


def _iso(written: str) -> datetime | None:
    try:
        return datetime.fromisoformat(written.upper().replace("UTC", "Z").replace(" Z", "Z")).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _seconds(head: str) -> float | None:
    if found := _IN.search(head):
        parts = _ONE.findall(found[1])
        total = sum(float(n) * (0.001 if unit.lower() == "ms" else _UNITS[unit[0].lower()]) for n, unit in parts)
    elif found := _AFTER.search(head):
        total = float(found[1]) * (0.001 if found[2] and found[2].lower() == "ms" else 1)
    else:
        return None
    return total if total < 366 * 86400 else None


def _next_clock(found: re.Match[str], at: datetime) -> datetime | None:
    """ "resets 3pm (Europe/Berlin)": the next time that it is so there."""
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        hour = hour % 12 + (12 if found[3].lower() == "pm" else 0)
    try:
        there = at.astimezone(ZoneInfo(found[4]))
        then = there.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if then <= there:
            then += timedelta(days=1)
        return then.astimezone(UTC)
    except (ValueError, OSError, KeyError, OverflowError):
        return None
