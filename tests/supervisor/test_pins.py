"""Pins: what is for one host waits for it, and holds nobody else up."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kumihimo.domain.errors import InvalidValue
from kumihimo.domain.execution import Execution
from kumihimo.services.groups import Errand, Limits
from kumihimo.services.hosts import LEASE
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.services.wish import Wish
from kumihimo.settings import Flags, load
from kumihimo.store.executions import Reach
from kumihimo.supervisor.presence import Presence
from kumihimo.testing.boards import BoardKit

HERE = Reach(("host_here", "here", "gpu"))
THERE = Reach(("host_there", "there", "gpu"))


@pytest.fixture
def hosts(kit: BoardKit) -> BoardKit:
    kit.board.hosts.renew("host_here", "here", 10, timedelta(days=1), labels=("gpu",))
    kit.board.hosts.renew("host_there", "there", 10, timedelta(days=1), labels=("gpu",))
    return kit


def asked(kit: BoardKit, host: str | None, count: int = 1) -> list[str]:
    agent = kit.board.agents.add(f"agent-{len(kit.board.agents.list().items)}").agent
    made = [kit.board.executions.enqueue(Wish(agent, "group", host=host)) for _ in range(count)]
    return [run.id for run in made if run is not None]


def claimed(kit: BoardKit, reach: Reach, limit: int = 10) -> list[str]:
    return [run.id for run in kit.board.executions.claim_some(reach.answers[0], limit, reach=reach)]


@pytest.mark.parametrize("word", ["there", "host_there"])
def test_a_run_that_is_pinned_goes_to_its_host_alone(hosts: BoardKit, word: str) -> None:
    (run,) = asked(hosts, word)
    assert not hosts.board.executions.waiting(HERE)
    assert claimed(hosts, HERE) == []
    assert hosts.board.executions.waiting(THERE)
    assert claimed(hosts, THERE) == [run]


def test_a_label_means_every_host_that_has_it(hosts: BoardKit) -> None:
    runs = asked(hosts, "gpu", 2)
    assert claimed(hosts, HERE, 1) == runs[:1]
    assert claimed(hosts, THERE, 1) == runs[1:]


def test_hundreds_that_wait_for_a_host_which_is_away_hold_nobody_up(hosts: BoardKit) -> None:
    asked(hosts, "there", 400)
    (free,) = asked(hosts, None)
    assert claimed(hosts, HERE) == [free]


def test_a_host_that_nobody_has_heard_of_is_refused_and_those_that_there_are_are_named(hosts: BoardKit) -> None:
    board = hosts.board
    shop = Place(board.projects.add("shop", "/srv/shop").id)
    board.agents.add("coder")
    group = board.groups.create("together")
    errand = Errand("coder", "go", "/srv/shop", host="elsewhere")
    for refused in (
        lambda: board.tasks.create(shop, NewTask("somewhere", host="elsewhere")),
        lambda: board.groups.create("somewhere", host="elsewhere"),
        lambda: board.groups.run(group.id, [errand], Limits(10)),
    ):
        with pytest.raises(InvalidValue, match="elsewhere") as told:
            refused()
        assert str(told.value.facts["choices"]) == "here, gpu, there"
    assert board.tasks.list(shop).items == []


def test_a_task_is_pinned_and_let_go_again(hosts: BoardKit) -> None:
    board = hosts.board
    shop = Place(board.projects.add("shop", "/srv/shop").id)
    task = board.tasks.create(shop, NewTask("somewhere", host="there")).task
    assert task.host == "there"
    assert board.tasks.update(shop, task.number, title="anywhere").task.host == "there"
    assert board.tasks.update(shop, task.number, host="").task.host is None


def test_the_runs_of_a_pinned_group_are_pinned_unless_they_say_otherwise(hosts: BoardKit) -> None:
    board = hosts.board
    board.agents.add("coder")
    group = board.groups.create("there", host="there")
    errands = [Errand("coder", "go", "/srv/shop", host=host) for host in (None, "here")]
    runs = board.groups.run(group.id, errands, Limits(10))
    assert [run.host for run in runs] == ["there", "here"]


def test_a_conversation_is_gone_on_with_where_it_was_had(hosts: BoardKit) -> None:
    board = hosts.board
    board.agents.add("coder", client="codex")
    group = board.groups.create("together")
    (run,) = board.groups.run(group.id, [Errand("coder", "go", "/srv/shop")], Limits(10))
    ended = _ended_with_conversation(hosts, run)
    again = board.groups.go_on(ended.id, "and on", Limits(10))
    assert (ended.host_id, again.host) == ("host_there", "host_there")
    # The same wish once more may be done anywhere.
    assert board.groups.retry(ended.id, Limits(10)).host is None


def _ended_with_conversation(kit: BoardKit, run: Execution) -> Execution:
    from kumihimo.domain.observation import Observation

    (mine,) = kit.board.executions.claim_some("host_there", 1, reach=THERE)
    assert mine.id == run.id
    kit.board.executions.start(mine.id, mine.fence)
    kit.board.executions.observe([Observation(mine.id, conversation="thread")])
    return kit.board.executions.complete(mine.id, mine.fence)


def test_what_others_have_and_we_have_not_is_left_to_them_until_they_are_gone(
    kit: BoardKit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = kit.board
    monkeypatch.setenv("PATH", "")
    (tmp_path / "config.toml").write_text('[clients.codex]\ncommand = ["/bin/true"]\n')
    here = Presence(load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path), board, "host_here", "here", print)
    away = board.projects.add("away", str(tmp_path / "not here"))
    agent = board.agents.add("coder", client="codex").agent
    board.hosts.renew("host_there", "there", 5, LEASE, clients=("codex",), projects=(away.id,))
    here.renew()
    wish = Wish(agent, "group", project_id=away.id, working_directory=str(tmp_path / "not here"))
    run = board.executions.enqueue(wish)
    assert run is not None

    def taken() -> list[str]:
        found = board.executions.claim_some("host_here", 5, fits=here.takes, reach=here.reach)
        return [one.id for one in found]

    kit.clock.advance(seconds=LEASE.total_seconds() - 1)
    board.hosts.renew("host_there", "there", 5, LEASE, clients=("codex",), projects=(away.id,))
    kit.clock.advance(seconds=LEASE.total_seconds() - 1)
    here.renew()
    assert taken() == []
    # It has it no longer: somebody has to say that nobody has.
    board.hosts.renew("host_there", "there", 5, LEASE, clients=("codex",))
    here.renew()
    assert taken() == [run.id]
