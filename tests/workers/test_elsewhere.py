"""Workers on another host: their place is made there, by the host itself."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kumihimo.services.host_name import host_id
from kumihimo.services.hosting import find_running
from kumihimo.supervisor.wake import CROWD
from tests.lead.shop import until
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop


@pytest.fixture
def shared(database: str, open_workshop: OpenWorkshop, tmp_path: Path) -> Iterator[tuple[Workshop, Path]]:
    """A workshop, and the home of another host that shares its board and its folders."""
    shop = open_workshop(database)
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(shop.home / "config.toml", other)
    with (other / "config.toml").open("a") as file:
        file.write('\n[host]\nname = "other"\n')
    started = shop.spawn(
        "up", "--port", "0", env={**shop.environment, "KUMI_HOME": str(other), "KUMI_DB": shop.database}
    )
    until(lambda: find_running(other))
    until(lambda: len(shop.board.hosts.alive()) == 2)
    yield shop, other
    os.kill(started.pid, signal.SIGTERM)
    started.wait()


def test_a_worker_for_another_host_gets_its_worktree_there(shared: tuple[Workshop, Path]) -> None:
    shop, other = shared
    number = shop.task(shop.script("away").say("Done."))
    begun = shop.kumi("worker", "run", str(number), "--detach", "--host", "other")
    assert begun["status"] in ("planned", "queued", "starting", "running")
    waited = shop.kumi("worker", "wait", str(number), "--timeout", "60")
    run = shop.board.executions.show(waited["executionId"])
    assert (run.status, run.host_id) == ("completed", host_id(other))
    assert run.branch is not None
    assert len(shop.records("start", "away")) == 1


def test_among_many_hosts_who_hear_nothing_a_place_is_made_all_the_same(shared: tuple[Workshop, Path]) -> None:
    shop, other = shared
    for count in range(CROWD):
        shop.board.hosts.renew(f"host_{count}", f"other-{count}", 1, timedelta(hours=1))
    number = shop.task(shop.script("away").say("Done."))
    shop.kumi("worker", "run", str(number), "--detach", "--host", "other")
    waited = shop.kumi("worker", "wait", str(number), "--timeout", "120")
    run = shop.board.executions.show(waited["executionId"])
    assert (run.status, run.host_id) == ("completed", host_id(other))
    until(lambda: not shop.board.executions.show(run.id).unverified)


def test_a_task_that_is_pinned_sends_its_workers_there(shared: tuple[Workshop, Path]) -> None:
    shop, other = shared
    number = shop.task(shop.script("pinned").say("here"), host="other")
    shop.kumi("worker", "run", str(number), "--detach", "--no-worktree")
    waited = shop.kumi("worker", "wait", str(number), "--timeout", "60")
    assert shop.board.executions.show(waited["executionId"]).host_id == host_id(other)


def test_a_place_that_can_not_be_made_blocks_the_task_with_the_reason(shared: tuple[Workshop, Path]) -> None:
    shop, _ = shared
    number = shop.task("go", host="other")
    # A repository without a commit has nothing that a worktree could begin at.
    shutil.rmtree(shop.folder / ".git")
    shop.kumi("worker", "run", str(number), "--detach")
    until(lambda: shop.see(number).status == "blocked")
    assert shop.see(number).status_reason
