"""When a server wants to be asked again, in whatever words it says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kumihimo.wire.client.retry_after import seconds_until

YEAR = 366 * 86_400


@pytest.mark.parametrize(("told", "seconds"), [("7", 7), (" 0 ", 0), ("9" * 400, YEAR), ("99999999999", YEAR)])
def test_seconds_are_read_and_never_without_end(told: str, seconds: float) -> None:
    assert seconds_until(told) == seconds


def test_a_date_is_read_and_one_that_is_over_is_now() -> None:
    later = datetime.now(UTC) + timedelta(hours=2)
    wait = seconds_until(format_datetime(later, usegmt=True))
    assert wait is not None
    assert 3600 < wait <= 7200
    assert seconds_until("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert seconds_until("Wed, 21 Oct 9999 07:28:00 GMT") == YEAR


@pytest.mark.parametrize(
    "told",
    [
        "",
        "soon",
        "-7",
        "1.5",
        "٧",
        "Wed, 21 Oct 2015 07:28:00",
        "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
        "Wed, 99999999999999999999 Oct 2015 07:28:00 GMT",
        "Wed, 21 Oct 2015 07:28:00 +99999999999999999999",
    ],
)
def test_what_says_nothing_is_nothing(told: str) -> None:
    assert seconds_until(told) is None
