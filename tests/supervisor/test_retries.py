"""A task whose host is gone is done by another one, and whoever comes back is told what was decided meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from kumihimo.domain.execution import Execution
from kumihimo.domain.session import Process
from kumihimo.engine.processes import identity
from kumihimo.services.host_name import host_id
from kumihimo.services.hosting import find_running
from tests.lead.shop import until
from tests.supervisor.patience import hold_still
from tests.workers.conftest import OpenWorkshop
from tests.workers.conftest import git_of_nobody as git_of_nobody
from tests.workers.conftest import open_workshop as open_workshop
from tests.workers.workshop import Workshop, committing


@pytest.fixture
def pair(database: str, open_workshop: OpenWorkshop, tmp_path: Path) -> tuple[Workshop, str]:
    """A workshop with its host, and the id of another host on its board, with a home of its own."""
    shop = open_workshop(database)
    home = tmp_path / "other"
    home.mkdir()
    shutil.copy(shop.home / "config.toml", home)
    with (home / "config.toml").open("a") as file:
        file.write('\n[host]\nname = "other"\n')
    shop.spawn("up", "--port", "0", env={**shop.environment, "KUMI_HOME": str(home)})
    until(lambda: find_running(home))
    until(lambda: len(shop.board.hosts.alive()) == 2)
    return shop, host_id(home)


def begun(shop: Workshop, **task: Any) -> tuple[int, Execution, list[Process]]:
    """A task whose first agent is at work on the workshop's own host, with a child, and does not end by itself; whoever
    comes after it writes one file. Answers its number, its run, and the processes of the agent."""
    first, child = shop.gate(), shop.gate()
    waits = f"mkdir {first} 2>/dev/null && echo half > left && exec sh -c 'echo $$ > {child}; exec sleep 600'"
    script = committing(shop.script("twice").shell(f"{waits}; true").write("done", "whole\n"))
    number = shop.task(script, **task)
    run = shop.worker(number, host=socket.gethostname())
    until(lambda: child.exists() and child.read_text().strip())
    (record,) = shop.records("start", "twice")
    found = [identity.of(record["pid"]), identity.of(int(child.read_text()))]
    return number, shop.show(run), [process for process in found if process is not None]


def alive(processes: list[Process]) -> int:
    return sum(identity.of(process.pid) == process for process in processes)


def give_up(shop: Workshop) -> Execution:
    """As the others do when they have not heard of the workshop's host for long."""
    gone = host_id(shop.home)

    def forget(_: object) -> None:
        connection = shop.board.store.connection
        connection.execute("UPDATE hosts SET lease_until = 1 WHERE id = ?", (gone,))
        connection.execute("UPDATE executions SET lease_until = 1 WHERE owner = ?", (gone,))

    shop.board.store.write(forget)
    (lost,) = shop.board.executions.lose_expired()
    return lost


def done_by(shop: Workshop, number: int, lost: Execution, other: str) -> Execution:
    """The run that has followed, when it is over on the other host and its work is merged."""
    again = shop.over(shop.board.work_sessions.latest(shop.place, number).execution)
    assert (again.previous_id, again.attempt, again.status, again.host_id) == (lost.id, 1, "completed", other)
    (merged,) = shop.merge(number)
    assert merged.status == "merged", merged.reason
    assert shop.see(number).status == "done"
    assert shop.on_main("done") == "whole"
    return again


def require_ended(shop: Workshop, number: int, lost: Execution, agent: list[Process]) -> None:
    """The agent of the run that was given up is ended with all that it started, and changes nothing any more."""
    known = until(lambda: shop.show(lost).returned)
    until(lambda: not alive(agent))
    assert (known.signal, known.reason) == ("SIGTERM", "signalled")
    assert shop.show(lost).status == "lost"
    assert shop.see(number).status == "done"
    assert (shop.folder_of(lost) / "left").read_text() == "half\n"
    assert len(shop.records("start", "twice")) == 2


def test_a_task_of_a_host_that_is_gone_is_done_by_another_and_who_comes_back_ends_its_own_agent(
    pair: tuple[Workshop, str],
) -> None:
    shop, other = pair
    number, run, agent = begun(shop, retries=1)
    shop.kill_host()
    lost = give_up(shop)
    assert lost.id == run.id
    again = done_by(shop, number, lost, other)
    assert shop.folder_of(again) != shop.folder_of(lost)
    assert alive(agent) == 2
    shop.up()
    require_ended(shop, number, lost, agent)


def test_a_host_that_was_only_held_up_ends_the_agent_that_another_has_followed(pair: tuple[Workshop, str]) -> None:
    shop, other = pair
    number, run, agent = begun(shop, retries=1)
    held = until(lambda: shop.host)
    hold_still(shop.board.store, held.process.pid)
    try:
        lost = give_up(shop)
        assert lost.id == run.id
        done_by(shop, number, lost, other)
    finally:
        os.kill(held.process.pid, signal.SIGCONT)
    require_ended(shop, number, lost, agent)


def test_without_a_policy_nothing_is_started_elsewhere_and_the_agent_goes_on(pair: tuple[Workshop, str]) -> None:
    shop, _ = pair
    number, _, agent = begun(shop)
    shop.kill_host()
    lost = give_up(shop)
    shop.up()
    assert (shop.see(number).status, shop.see(number).status_reason) == ("blocked", "lost")
    os.kill(agent[1].pid, signal.SIGKILL)
    # It has gone on without its child, to its own end.
    known = until(lambda: shop.show(lost).returned)
    assert (known.exit_code, known.signal) == (0, None)
    assert len(shop.records("start", "twice")) == 1
    assert shop.see(number).status == "blocked"
