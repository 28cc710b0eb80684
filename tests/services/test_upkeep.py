from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo.domain.errors import ConfigError, StoreDamaged, StoreNotEmpty, StoreNotOurs, StoreUnreachable
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


@pytest.mark.parametrize("content", [b"", b"hello" * 100, b"SQLite format 3\0" + bytes(4080)])
def test_a_file_that_is_no_backup_is_named_and_left_as_it_is(database: str, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "letter.txt"
    file.write_bytes(content)
    with pytest.raises(StoreNotOurs, match=str(file)):
        upkeep.restore(settings_for(database, tmp_path), file)
    assert file.read_bytes() == content


def test_a_damaged_board_is_told_of_when_it_is_looked_through(shop: Shop, database: str, tmp_path: Path) -> None:
    for number in range(200):
        shop.task(f"task {number} " + "x" * 400)
    file = tmp_path / "damaged.db"
    upkeep.backup(settings_for(database, tmp_path), file)
    whole = file.read_bytes()
    file.write_bytes(whole[:8192] + b"\xff" * 16384 + whole[24576:])
    try:
        told = " ".join(upkeep.examine(settings_for(str(file), tmp_path)).problems)
    except StoreDamaged as error:
        told = str(error)
    assert told


@pytest.mark.parametrize("asked", ["mysql://me:secret@db/x", "sqlite:///board.db"])
def test_an_address_of_another_kind_of_database_is_refused_and_makes_no_folder(tmp_path: Path, asked: str) -> None:
    settings = settings_for(asked, tmp_path)
    with pytest.raises(ConfigError) as caught:
        open_store(settings.database)
    assert "postgresql://" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert not list(tmp_path.iterdir())


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
