"""Who falls silent in the middle of a command, frozen or cut off, does not hold up the others for ever."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from kumihimo.domain.errors import StoreUnreachable
from kumihimo.store import postgres as module
from kumihimo.testing.boards import BoardKit
from tests.lead.shop import until
from tests.postgres.pooler import Pooler, needs_pooler
from tests.postgres.test_lost_commits import ask, names

Opened = Callable[[str], BoardKit]
IDLE = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SILENCE_LIMIT", "300ms")
    monkeypatch.setattr(module, "_SET_SILENCE", module._SET_SILENCE.replace(b"15s", b"300ms"))


def fall_silent(kit: BoardKit, url: str) -> None:
    """In the middle of a command, until the server has had enough."""

    def command(_: object) -> None:
        kit.board.agents.add("lost")
        assert ask(url, IDLE)
        until(lambda: not ask(url, IDLE))
        kit.board.agents.add("more")

    with pytest.raises(StoreUnreachable):
        kit.board.store.write(command)


def require_undone(kit: BoardKit, url: str, opened: Opened) -> None:
    other = opened(url)
    assert names(other) == []
    other.board.agents.add("next")
    # The feed is not held back, and who was silent goes on.
    assert [event.kind for event in other.board.store.events_after(None)] == ["agent.created"]
    assert names(kit) == ["next"]


def test_a_command_of_somebody_silent_is_undone_and_he_is_told(url: str, opened: Opened) -> None:
    kit = opened(url)
    fall_silent(kit, url)
    require_undone(kit, url, opened)


@needs_pooler
def test_behind_a_pooler_too(url: str, opened: Opened) -> None:
    with tempfile.TemporaryDirectory(prefix="kumi-pool-") as folder:
        pooler = Pooler(Path(folder), url)
        try:
            kit = opened(pooler.url(url))
            fall_silent(kit, url)
            require_undone(kit, url, opened)
        finally:
            pooler.stop()


def test_a_limit_of_the_server_s_owner_is_left_as_it_is(url: str, opened: Opened) -> None:
    name = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(url, autocommit=True) as master:
        master.execute(f"ALTER DATABASE {name} SET idle_in_transaction_session_timeout = '7s'".encode())
    connection = opened(url).board.store.connection
    assert connection.execute("SHOW idle_in_transaction_session_timeout") == [("7s",)]
