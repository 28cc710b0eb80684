"""What one run costs a PostgreSQL: statements, transactions and log while it happens, and what stays of it in each table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tables import show

from kumihimo.app import identifiers, now
from kumihimo.domain.observation import Observation
from kumihimo.services.board import Board
from kumihimo.services.groups import Errand, Limits
from kumihimo.store.mapping import Row
from kumihimo.store.schema import TABLES
from kumihimo.store.store import open_store
from kumihimo.testing.databases import PostgresServer

GROUPS, SIZE, LOOKS = 100, 10, 10
PROMPT = "Look at how sessions are checked, mend what is wrong, and add a test that fails without it. " * 5


def run(folder: Path) -> None:
    server = PostgresServer(folder)
    try:
        _measure(server.new_database())
    finally:
        server.stop()


def _measure(url: str) -> None:
    store = open_store(url)
    board = Board(store, now, identifiers())
    project = board.projects.add("shop", "/srv/shop")
    board.agents.add("coder")
    _work(board, project.id, 5)
    asked = store.connection.execute
    before, sizes = _counters(asked), _sizes(asked)
    statements = _count(store)
    _work(board, project.id, GROUPS)
    runs = GROUPS * SIZE
    after, grown = _counters(asked), _sizes(asked)
    names = ("transactions", "rows written", "bytes of WAL")
    lines: list[Sequence[object]] = [("statements", statements() / runs)]
    lines += [(name, (new - old) / runs) for name, old, new in zip(names, before, after, strict=True)]
    show(f"one run of a group of {SIZE}, with {LOOKS} looks at its stream", ("what", "for a run"), lines)
    gone, _ = store.write(lambda transaction: transaction.events.fold(2**62, window=2**62))
    kept = asked("SELECT count(*) FROM events")[0][0]
    growth = {table: (grown[table] - sizes[table]) / runs for table in TABLES}
    largest = sorted(growth.items(), key=lambda it: it[1], reverse=True)
    show("what it leaves, with indexes", ("table", "bytes for a run"), [it for it in largest if it[1] > 1])
    show("events", ("what", "for a run"), [("written", (gone + kept) / runs), ("kept when folded", kept / runs)])
    store.close()


def _work(board: Board, project_id: str, groups: int) -> None:
    limits = Limits(1_000_000, project_id)
    for _ in range(groups):
        group = board.groups.create("a group", project_id=project_id)
        board.groups.run(group.id, [Errand("coder", PROMPT, "/srv/shop")] * SIZE, limits)
        claimed = board.executions.claim_some("host_bench", SIZE)
        started = board.store.write(
            lambda _, claimed=claimed: [
                board.executions.start(run.id, run.fence, log_path=f"/srv/home/runs/{run.id}/out") for run in claimed
            ]
        )
        for look in range(LOOKS):
            board.executions.observe([Observation(run.id, position=look * 1_000) for run in started])
        for run in started:
            board.executions.complete(run.id, run.fence)


def _count(store: Any) -> Any:
    """How many statements there are from now on."""
    connection = store.connection
    asked, counted = connection.execute, [0]

    def execute(sql: str, values: Sequence[Any] = ()) -> list[Row]:
        counted[0] += 1
        return asked(sql, values)

    connection.execute = execute
    return lambda: counted[0]


def _counters(execute: Any) -> tuple[int, int, int]:
    execute("SELECT pg_stat_force_next_flush()")
    rows = execute(
        "SELECT xact_commit, tup_inserted + tup_updated + tup_deleted, (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint "
        "FROM pg_stat_database WHERE datname = current_database()"
    )
    return tuple(rows[0])


def _sizes(execute: Any) -> dict[str, int]:
    return {table: execute("SELECT pg_total_relation_size(?::regclass)", (table,))[0][0] for table in TABLES}
