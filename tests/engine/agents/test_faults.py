"""Vendors' error texts, and when a limit ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kumihimo.engine.agents.faults import failure, reason_of, reset_of

AT = datetime(2026, 11, 15, 20, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("message", "status", "reason"),
    [
        ("scripted", 429, "rate_limited"),
        ("scripted", 401, "auth"),
        ("scripted", 403, "permission"),
        ("scripted", 500, "exited"),
        ("429 Too Many Requests", None, "rate_limited"),
        ("You exceeded your current quota", None, "rate_limited"),
        ("RESOURCE_EXHAUSTED", None, "rate_limited"),
        ("5-hour limit reached", None, "rate_limited"),
        ("Not logged in · Please run /login", None, "auth"),
        ("Invalid API key · Fix external API key", None, "auth"),
        ("API key not valid. Please pass a valid API key.", None, "auth"),
        ("Error: Authentication required. Please run 'agent login' first", None, "auth"),
        ("Please set an Auth method in your settings.json", None, "auth"),
        ("Your credit balance is too low", None, "auth"),
        ("PERMISSION_DENIED", None, "permission"),
        ("Gemini CLI is not running in a trusted directory", None, "permission"),
        ("--dangerously-skip-permissions cannot be used with root/sudo privileges", None, "permission"),
        ("file src/limits.py:1429 not found", None, "exited"),
        ("", None, "exited"),
    ],
)
def test_a_text_gives_its_reason(message: str, status: int | None, reason: str) -> None:
    assert reason_of(message, status) == reason


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 20s.", 20),
        ("Please try again in 1.5 seconds", 1.5),
        ("try again in 350ms", 0.35),
        ("Try again in 3 days 2 hours 1 minute.", 3 * 86400 + 2 * 3600 + 60),
        ("Your quota will reset after 18h31m10s.", 18 * 3600 + 31 * 60 + 10),
        ("Please retry in 12.5s.", 12.5),
        ('"retryDelay": "34s"', 34),
        ("retry-after: 60", 60),
        ("Retry after 90", 90),
    ],
)
def test_a_span_is_counted_from_the_lines_time_or_told_as_it_is(message: str, seconds: float) -> None:
    assert reset_of(message) == (None, pytest.approx(seconds))
    assert reset_of(message, AT) == (AT + timedelta(seconds=seconds), None)


@pytest.mark.parametrize(
    ("message", "moment"),
    [
        ("Claude AI usage limit reached|1763251200", datetime(2025, 11, 16, tzinfo=UTC)),
        ('{"resets_at": 1763251200}', datetime(2025, 11, 16, tzinfo=UTC)),
        ("limit reached, resets at 2026-11-16T05:00:00Z", datetime(2026, 11, 16, 5, tzinfo=UTC)),
        ("try again at 2026-11-16 05:00 UTC", datetime(2026, 11, 16, 5, tzinfo=UTC)),
        ("reset at 2026-11-16T05:00:00+09:00", datetime(2026, 11, 15, 20, tzinfo=UTC)),
    ],
)
def test_a_moment_needs_no_clock(message: str, moment: datetime) -> None:
    assert reset_of(message) == (moment, None)


@pytest.mark.parametrize(
    ("message", "moment"),
    [
        ("resets 10pm (UTC)", datetime(2026, 11, 15, 22, tzinfo=UTC)),
        ("resets at 7:30pm (UTC)", datetime(2026, 11, 16, 19, 30, tzinfo=UTC)),
        ("resets 12am (Asia/Tokyo)", datetime(2026, 11, 16, 15, tzinfo=UTC)),
    ],
)
def test_a_time_of_day_is_the_next_one_after_the_line(message: str, moment: datetime) -> None:
    assert reset_of(message, AT) == (moment, None)
    assert reset_of(message) == (None, None)


@pytest.mark.parametrize(
    "message", ["try again later", "resets 25pm (Nowhere/Land)", "resets at 3pm", "try again in 99999999999 days", ""]
)
def test_what_is_not_stated_stays_unknown(message: str) -> None:
    assert reset_of(message, AT) == (None, None)


@settings(deadline=None)
@given(st.text(), st.none() | st.datetimes(timezones=st.just(UTC)))
def test_no_text_raises(message: str, at: datetime | None) -> None:
    failure(message, 429, at)


@pytest.mark.parametrize(
    "message",
    [
        "try again in 5ſ",
        "resets at 0001-01-01T00:00:00+14:00",
        "resets at 2026-99-99T00:00:00Z",
        "try again in 300 days",
    ],
)
def test_a_moment_that_cannot_be_is_unknown(message: str) -> None:
    assert reset_of(message, datetime.max.replace(tzinfo=UTC)) == (None, None)


def test_only_a_limit_has_an_end() -> None:
    found = failure("401 Unauthorized, try again in 20s")
    assert (found.reason, found.reset_at, found.reset_after) == ("auth", None, None)
