"""Who reads too slowly costs nobody anything: it is let go, told why, and misses nothing when it comes back."""

from __future__ import annotations

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from tests.live.conftest import Home
from tests.live.watcher import Watcher

# More than the kernel and the server hold for one client together.
MANY = 450
LONG = "x" * 60_000


def titles(watcher: Watcher) -> list[str]:
    return [message["data"]["title"] for message in watcher.told if message["type"] == "task:created"]


def test_who_does_not_keep_up_is_told_so_and_let_go(home: Home) -> None:
    place, tasks = Place(home.shop.project.id), home.shop.board.tasks
    with home.watch() as quick, home.watch() as slow:
        quick.until_type("snapshot")
        cursor = slow.until_type("snapshot")["cursor"]
        for number in range(MANY):
            tasks.create(place, NewTask(f"Task {number}", description=LONG))
            if number % 10 == 9:
                quick.until(lambda it, last=number: it["data"].get("title") == f"Task {last}")
        code, reason = slow.until_closed()
        assert code == 4408
        assert "cursor" in reason
        assert len(titles(slow)) < MANY
        if slow.told[1:]:
            cursor = slow.cursor
    with home.watch(cursor) as back:
        back.until(lambda it: it["data"].get("title") == f"Task {MANY - 1}")
    everything = [f"Task {number}" for number in range(MANY)]
    assert titles(slow) + titles(back) == everything
    assert titles(quick) == everything
