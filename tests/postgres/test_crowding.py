"""A server that has no connection left: said clearly, and got over without a restart. Nor does one host take very many."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from kumihimo.domain.errors import StoreCrowded
from kumihimo.domain.messages import render
from kumihimo.surfaces.cli.exit_codes import DATABASE
from kumihimo.testing.boards import BoardKit
from kumihimo.testing.databases import PostgresServer
from tests.lead.shop import Shop, until
from tests.postgres.line import name_of

Opened = Callable[[str], BoardKit]
# Four threads of the door, the one that serves, the supervisor, the verifier, those who make places and carry artifacts away,
# one that looks after old events, and two that listen (docs/scale.md). Each follower of the log (a channel for notices,
# traces) has two more.
OF_A_HOST = 12


def limit(postgres: PostgresServer, role: str, count: int) -> None:
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}").format(sql.Identifier(role), count))


def test_a_role_that_has_all_its_connections_is_told_what_to_do(
    postgres: PostgresServer, role: str, owned: str, opened: Opened
) -> None:
    limit(postgres, role, 2)
    first, second = opened(owned), opened(owned)
    with pytest.raises(StoreCrowded, match="too many connections for role") as told:
        opened(owned)
    assert "max_connections" in render(told.value, "en")
    assert "max_connections" in render(told.value, "ja")
    first.board.agents.add("one")
    second.close()
    until(lambda: _opens(opened, owned))


def _opens(opened: Opened, url: str) -> bool:
    try:
        opened(url)
    except StoreCrowded:
        return False
    return True


def test_a_board_that_lost_its_connection_to_somebody_else_goes_on_when_there_is_one_again(
    postgres: PostgresServer, role: str, owned: str, opened: Opened
) -> None:
    kit = opened(owned)
    limit(postgres, role, 1)
    with psycopg.connect(postgres.url, autocommit=True) as master:
        master.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = %s", (role,))
    with psycopg.connect(owned):
        with pytest.raises(StoreCrowded):
            kit.board.agents.add("refused")
        with pytest.raises(StoreCrowded):
            kit.board.agents.list()
    until(lambda: _adds(kit, "after"))
    assert [agent.name for agent in kit.board.agents.list().items] == ["after"]


def _adds(kit: BoardKit, name: str) -> bool:
    try:
        kit.board.agents.add(name)
    except StoreCrowded:
        return False
    return True


def test_a_server_that_is_full_is_called_full_for_everybody(own_server: PostgresServer, opened: Opened) -> None:
    with psycopg.connect(own_server.url, autocommit=True) as master:
        master.execute("ALTER SYSTEM SET max_connections = 12")
    own_server.restart()
    own_server.new_role("plain")
    for owner in ("plain", "postgres"):
        url = own_server.new_database(owner=owner)
        with ExitStack() as hogs:
            with suppress(psycopg.OperationalError):
                while True:
                    hogs.enter_context(psycopg.connect(own_server.url if owner == "postgres" else url))
            with pytest.raises(StoreCrowded):
                opened(url)
        until(lambda url=url: _opens(opened, url))


def calls(shop: Shop, count: int) -> set[int]:
    """How the door of the shop's host answers to many at once."""
    host = until(lambda: shop.host)
    token = (shop.home / "token").read_text().strip()
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def call(_: int) -> int:
        door = http.client.HTTPConnection("127.0.0.1", host.port, timeout=60)
        door.request("POST", "/api/v1/task/list?project=shop", "{}", headers)
        answer = door.getresponse()
        answer.read()
        door.close()
        return answer.status

    with ThreadPoolExecutor(24) as callers:
        return set(callers.map(call, range(count)))


def work(shop: Shop) -> list[str]:
    lead = shop.lead()
    ended = lead.ended(*lead.run(lead.group(), *(shop.script().say("Done.") for _ in range(3))))
    lead.close()
    return [run["status"] for run in ended]


def test_one_host_takes_no_more_connections_however_many_call_it(
    postgres: PostgresServer, url: str, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, url)
    try:
        assert work(shop) == ["completed"] * 3
        assert calls(shop, 200) == {200}
        shop.board.store.close()
        with psycopg.connect(postgres.url, autocommit=True) as asking:
            taken = asking.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", (name_of(url),)
            ).fetchone()
    finally:
        shop.close()
    assert taken is not None
    assert 1 < taken[0] <= OF_A_HOST


def test_a_host_that_found_no_connection_for_a_while_works_on_without_a_restart(
    postgres: PostgresServer, role: str, owned: str, tmp_path: Path
) -> None:
    shop = Shop(tmp_path, owned)
    try:
        assert work(shop) == ["completed"] * 3
        host = until(lambda: shop.host)
        limit(postgres, role, 0)
        with psycopg.connect(postgres.url, autocommit=True) as master:
            master.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = %s", (role,))
        assert calls(shop, 8) == {503}
        assert shop.kumi("task", "ls", "--project", "shop", code=DATABASE) is None
        limit(postgres, role, -1)
        assert calls(shop, 50) == {200}
        assert work(shop) == ["completed"] * 3
        assert until(lambda: shop.host).process == host.process
    finally:
        limit(postgres, role, -1)
        shop.close()
