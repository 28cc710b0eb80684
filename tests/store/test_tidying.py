"""What is done while nobody waits, so that no command has to do it on its way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.testing.boards import BoardKit

OpenKit = Callable[[str | Path], BoardKit]
# Some fifty pages, with its event.
_LONG = 100_000


def _logged(kit: BoardKit) -> tuple[int, int]:
    """How many pages are in the log, and how many of them are in the file as well."""
    _, logged, brought = kit.board.store.connection.execute("PRAGMA wal_checkpoint(NOOP)")[0]
    return logged, brought


def _fill(kit: BoardKit, folder: Path, tasks: int) -> Place:
    place = Place(kit.board.projects.add("shop", str(folder)).id)
    for number in range(tasks):
        kit.board.tasks.create(place, NewTask(f"task {number}", description="x" * _LONG))
    return place


@pytest.fixture
def kit(tmp_path: Path, open_kit: OpenKit) -> BoardKit:
    return open_kit(tmp_path / "kumi.db")


def test_much_that_was_written_is_brought_into_the_file_while_nobody_waits(kit: BoardKit, tmp_path: Path) -> None:
    _fill(kit, tmp_path, 12)
    logged, brought = _logged(kit)
    # No commit has done it.
    assert (500 < logged < 1_000, brought) == (True, 0)
    kit.board.store.tidy()
    assert _logged(kit) == (logged, logged)


def test_a_little_is_left_where_it_is(kit: BoardKit, tmp_path: Path) -> None:
    _fill(kit, tmp_path, 1)
    kit.board.store.tidy()
    kit.board.store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kit.board.projects.add("other", str(tmp_path / "other"))
    kit.board.store.tidy()
    assert _logged(kit)[1] == 0


def test_nobody_waits_for_it_and_it_waits_for_nobody(kit: BoardKit, tmp_path: Path, open_kit: OpenKit) -> None:
    """Who is in the middle of reading sees what it saw; who is in the middle of writing goes on."""
    place = _fill(kit, tmp_path, 12)
    reader, writer, keeper = (open_kit(tmp_path / "kumi.db") for _ in range(3))

    def read(transaction: object) -> None:
        before = len(reader.board.tasks.list(place, limit=100).items)
        writer.board.tasks.create(place, NewTask("meanwhile"))
        writer.board.store.write(lambda _: keeper.board.store.tidy())
        assert len(reader.board.tasks.list(place, limit=100).items) == before

    reader.board.store.read(read)
    assert len(reader.board.tasks.list(place, limit=100).items) == 13


def test_a_server_does_that_by_itself(database: str, open_kit: OpenKit, tmp_path: Path) -> None:
    kit = open_kit(database)
    place = _fill(kit, tmp_path, 2)
    kit.board.store.tidy()
    assert len(kit.board.tasks.list(place).items) == 2
