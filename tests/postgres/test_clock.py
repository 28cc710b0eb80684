"""Leases count on the server's clock, which is looked at again now and then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kumihimo.store import postgres as module
from kumihimo.store.postgres import PostgresConnection
from kumihimo.store.store import open_store


def test_a_machine_that_was_held_for_an_hour_soon_knows_the_time_again(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its clocks stood still meanwhile, and nobody on it noticed."""
    store = open_store(url)
    connection, passed = store.connection, module.passed
    assert isinstance(connection, PostgresConnection)
    connection._met_at -= timedelta(hours=1)
    assert datetime.now(UTC) - connection.now() > timedelta(minutes=50)
    monkeypatch.setattr(module, "passed", lambda: passed() + module._CLOCK_SECONDS + 1)
    store.read(lambda transaction: transaction.meta.get("word"))
    assert abs(datetime.now(UTC) - connection.now()) < timedelta(minutes=5)
    store.close()
