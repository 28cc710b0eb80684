"""A worker on a task whose policy is tried: it begins on a host, is lost, and another one follows."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

from kumihimo.domain.errors import IllegalTransition, StaleFence
from kumihimo.domain.execution import Execution
from kumihimo.domain.identifiers import Identifiers
from kumihimo.domain.task import Task
from kumihimo.services.board import Board
from kumihimo.services.workers import Request
from kumihimo.store.executions import Reach
from kumihimo.store.store import open_store
from tests.services.conftest import Shop


def host(shop: Shop, name: str, **more: Any) -> str:
    """A host that has everything it takes, for as long as nobody says otherwise."""
    having = {"clients": (shop.coder.client,), "projects": (shop.project.id,), **more}
    shop.kit.board.hosts.renew(f"host_{name}", name, 5, having.pop("lease", timedelta(days=1)), **having)
    return f"host_{name}"


def begin(shop: Shop, task: Task, *, worktree: bool = True, on: str = "host_a") -> Execution:
    """A worker on it, under way on a host."""
    board = shop.kit.board
    worker = board.workers.open(
        shop.here, Request(task.number, "worker", auto=True, skip_checks=True, timeout_ms=9_000)
    )
    folder = "/srv/shop/.kumi/worktrees/task" if worktree else "/srv/shop"
    placed: dict[str, str] = {"branch": "task-1-s1", "worktree": folder, "base": "c0"} if worktree else {}
    board.workers.ready(worker.execution.id, prompt="Task #1", working_directory=folder, **placed)
    return start(shop, worker.execution, on)


def start(shop: Shop, run: Execution, on: str = "host_a") -> Execution:
    (claimed,) = shop.kit.board.executions.claim_some(on, 1, reach=Reach((on,)))
    assert claimed.id == run.id
    return shop.kit.board.executions.start(run.id, claimed.fence)


def place(shop: Shop, run: Execution, on: str) -> Execution:
    """Its place is made by a host, which then begins with it."""
    assert shop.kit.board.retries.take(run.id, on) is not None
    folder = "/srv/shop/.kumi/worktrees/again"
    shop.kit.board.workers.ready(
        run.id, prompt="Task #1", working_directory=folder, branch="again", worktree=folder, base="c0", host_id=on
    )
    return start(shop, run, on)


def lose(shop: Shop, run: Execution) -> Execution:
    shop.kit.clock.advance(seconds=31)
    (lost,) = shop.kit.board.executions.lose_expired()
    assert lost.id == run.id
    return lost


def newest(shop: Shop, task: Task) -> Execution:
    return shop.kit.board.work_sessions.latest(shop.here, task.number).execution


def see(shop: Shop, task: Task) -> Task:
    return shop.kit.board.tasks.get(shop.here, task.number)


def runs(shop: Shop, task: Task) -> list[Execution]:
    return shop.kit.board.executions.list(task_id=task.id, limit=100).items


def at_once(shop: Shop, *acts: Callable[[Board], Any]) -> list[Any]:
    """What each of them gets, on a board of its own, in the same moment."""
    barrier = Barrier(len(acts))

    def do(act: Callable[[Board], Any]) -> Any:
        board = Board(open_store(shop.kit.database), shop.kit.clock, Identifiers(os.urandom))
        try:
            barrier.wait(timeout=60)
            return act(board)
        except (IllegalTransition, StaleFence) as refused:
            return refused
        finally:
            board.store.close()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [done.result(timeout=60) for done in [pool.submit(do, act) for act in acts]]


def waiting(shop: Shop, **more: Any) -> tuple[Task, Execution]:
    """A retry whose place is to be made."""
    task = shop.task(retries=1, **more)
    lose(shop, begin(shop, task))
    return task, newest(shop, task)
