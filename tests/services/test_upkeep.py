from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo.domain.errors import StoreNotEmpty, StoreUnreachable
from kumihimo.services import upkeep
from kumihimo.settings import Flags, Settings, load
from kumihimo.store.store import open_store
from tests.services.conftest import Shop


def settings_for(database: str, folder: Path) -> Settings:
    return load(Flags(db=database), {"KUMI_HOME": str(folder / "home")}, folder)


def test_a_backup_restores_to_the_same_board(shop: Shop, database: str, tmp_path: Path) -> None:
    parent = shop.task("parent")
    shop.task("kid", parent=parent.number, depends_on=[parent.number])
    shop.kit.board.agents.add("dev")
    settings = settings_for(database, tmp_path)
    copied = upkeep.backup(settings, tmp_path / "board.backup")
    assert copied.rows > 10
    with pytest.raises(StoreNotEmpty):
        upkeep.backup(settings, tmp_path / "board.backup")
    target = settings_for(str(tmp_path / "new.db"), tmp_path)
    upkeep.restore(target, tmp_path / "board.backup")
    with pytest.raises(StoreNotEmpty):
        upkeep.restore(target, tmp_path / "board.backup")
    restored = open_store(target.database)
    old = [(event.kind, event.subject, bytes(event.data)) for event in shop.kit.board.store.events_after(None, 10_000)]
    new = [(event.kind, event.subject, bytes(event.data)) for event in restored.events_after(None, 10_000)]
    assert new == old
    same = shop.kit.board.store.read(lambda t: t.tasks.many("ORDER BY id"))
    assert restored.read(lambda t: t.tasks.many("ORDER BY id")) == same
    restored.close()


def test_a_backup_that_is_not_there_is_said_so(database: str, tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="no such file"):
        upkeep.restore(settings_for(database, tmp_path), tmp_path / "nothing")


def test_folding_leaves_the_newest_event_of_everything(shop: Shop) -> None:
    task = shop.walk(shop.task(), "in_progress", "blocked", "in_progress")
    before = shop.events()
    assert upkeep.fold(shop.kit.board, 30) == 0
    shop.kit.clock.advance(days=31)
    assert upkeep.fold(shop.kit.board, 30) == before - shop.events() > 0
    left = [event for event in shop.kit.board.store.events_after(None, 10_000) if event.subject == task.id]
    assert len(left) == 1
    assert b'"in_progress"' in bytes(left[0].data)


def test_an_overview_counts_what_is_there(shop: Shop, database: str, tmp_path: Path) -> None:
    shop.task()
    shop.walk(shop.task(), "in_progress")
    shop.kit.board.work_sessions.start(shop.here, 1)
    seen = upkeep.overview(shop.kit.board, settings_for(database, tmp_path))
    assert (seen.projects, seen.agents, seen.tasks, seen.live_runs) == (1, 4, {"in_progress": 2}, 1)
