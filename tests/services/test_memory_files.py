"""The copy of the memory bank in the project's folder."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kumihimo.services import memory_files
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.testing.boards import BoardKit


class Bank:
    """A project in a real folder, and what lies in its `.kumi/memory`."""

    def __init__(self, kit: BoardKit, folder: Path) -> None:
        self.kit = kit
        self.folder = folder
        self.room = folder / ".kumi" / "memory"
        self.project = kit.board.projects.add("shop", str(folder))
        self.here = Place(self.project.id)

    @property
    def board(self) -> Board:
        return self.kit.board

    def add(self, slug: str, category: str = "tooling", **more: object) -> None:
        self.board.memories.add(self.here, slug, category=category, title=f"About {slug}", **more)  # type: ignore[arg-type]

    @property
    def files(self) -> list[str]:
        return sorted(str(path.relative_to(self.room)) for path in self.room.rglob("*") if not path.is_dir())


@pytest.fixture
def bank(kit: BoardKit, tmp_path: Path) -> Bank:
    folder = tmp_path / "shop"
    folder.mkdir()
    return Bank(kit, folder)


def test_an_active_decision_is_a_file_that_says_what_it_is(bank: Bank) -> None:
    bank.board.memories.add(
        bank.here,
        "linter",
        category="tooling",
        title='Use "ruff": 日本語',
        summary=" One linter. ",
        content="Why: speed.\n",
    )
    assert (bank.room / "tooling" / "linter.md").read_text("utf-8") == (
        "---\nid: linter\ncategory: tooling\n"
        'title: "Use \\"ruff\\": 日本語"\n'
        f"status: active\nupdated: {bank.kit.clock().isoformat().replace('+00:00', 'Z')}\ngenerator: kumihimo\n---\n\n"
        '# Use "ruff": 日本語\n\nOne linter.\n\nWhy: speed.\n'
    )
    assert bank.files == ["tooling/linter.md"]


def test_only_active_decisions_have_files_and_each_change_is_seen_in_them(bank: Bank) -> None:
    memories = bank.board.memories
    bank.add("linter")
    bank.add("draft", status="draft")
    bank.add("arch", "architecture")
    assert bank.files == ["architecture/arch.md", "tooling/linter.md"]
    memories.update(bank.here, "draft", status="active")
    memories.archive(bank.here, "arch")
    assert bank.files == ["tooling/draft.md", "tooling/linter.md"]
    assert not (bank.room / "architecture").exists(), "a folder of which nothing is left goes as well"
    memories.update(bank.here, "linter", category="rule", title="Changed")
    assert bank.files == ["rule/linter.md", "tooling/draft.md"]
    assert "# Changed" in (bank.room / "rule" / "linter.md").read_text()
    memories.update(bank.here, "draft", status="draft")
    assert bank.files == ["rule/linter.md"]


def test_what_has_not_changed_is_not_written_again(bank: Bank) -> None:
    bank.add("linter")
    before = (bank.room / "tooling" / "linter.md").stat()
    bank.add("other")
    after = (bank.room / "tooling" / "linter.md").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_project_without_decisions_gets_no_folder(bank: Bank) -> None:
    bank.add("draft", status="draft")
    assert bank.board.memories.write_files() == []
    assert list(bank.folder.iterdir()) == []


def test_files_that_people_put_there_are_left_alone(bank: Bank) -> None:
    bank.add("linter")
    ours = (bank.room / "tooling" / "linter.md").read_text()
    (bank.room / "tooling" / "mine.md").write_text("# Mine\n")
    (bank.room / "tooling" / "copy.md").write_text(ours)
    (bank.room / "elsewhere").mkdir()
    (bank.room / "elsewhere" / "linter.md").write_text(ours)
    (bank.room / "elsewhere" / "empty.md").write_text("")
    (bank.room / "README.md").write_text("read me")
    bank.board.memories.archive(bank.here, "linter")
    assert bank.files == [
        "README.md",
        "elsewhere/empty.md",
        "elsewhere/linter.md",
        "tooling/copy.md",
        "tooling/mine.md",
    ]


def test_a_file_of_somebody_else_in_the_place_of_ours_stays_and_is_told(
    bank: Bank, capsys: pytest.CaptureFixture[str]
) -> None:
    (bank.room / "tooling").mkdir(parents=True)
    (bank.room / "tooling" / "linter.md").write_text("# Mine\n")
    bank.add("linter")
    bank.add("other")
    assert (bank.room / "tooling" / "linter.md").read_text() == "# Mine\n"
    assert (bank.room / "tooling" / "other.md").exists(), "the others are written"
    assert "tooling/linter.md: somebody else's file is in the way" in capsys.readouterr().err
    (bank.room / "tooling" / "linter.md").unlink()
    assert bank.board.memories.write_files(bank.here) == []
    assert bank.files == ["tooling/linter.md", "tooling/other.md"]


def test_one_of_ours_that_was_edited_says_again_what_was_decided(bank: Bank) -> None:
    bank.add("linter")
    path = bank.room / "tooling" / "linter.md"
    whole = path.read_text()
    path.write_text(whole + "and something else\n")
    bank.add("other")
    assert path.read_text() == whole


@pytest.mark.parametrize("where", [".kumi", ".kumi/memory", ".kumi/memory/tooling", ".kumi/memory/tooling/linter.md"])
def test_no_link_is_followed(bank: Bank, tmp_path: Path, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    link = bank.folder / where
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside / "precious" if where.endswith(".md") else outside)
    bank.add("linter")
    assert bank.board.memories.show(bank.here, "linter").status == "active"
    assert sorted(path.name for path in outside.iterdir()) == ["precious"]
    assert (outside / "precious").read_text() == "precious"
    assert link.is_symlink()
    assert "not up to date" in capsys.readouterr().err


def test_a_link_in_which_ours_would_be_stale_is_not_cleared(bank: Bank, tmp_path: Path) -> None:
    bank.add("linter")
    outside = tmp_path / "outside"
    (bank.room / "tooling").rename(outside)
    (bank.room / "tooling").symlink_to(outside)
    bank.board.memories.archive(bank.here, "linter")
    assert (outside / "linter.md").exists()


@pytest.mark.parametrize("trap", ["pipe", "folder", "file for a folder"])
def test_whatever_is_in_the_way_nobody_waits_for_it(bank: Bank, trap: str, capsys: pytest.CaptureFixture[str]) -> None:
    bank.room.mkdir(parents=True)
    if trap == "file for a folder":
        (bank.room / "tooling").write_text("x")
    else:
        (bank.room / "tooling").mkdir()
        path = bank.room / "tooling" / "linter.md"
        os.mkfifo(path) if trap == "pipe" else path.mkdir()
    bank.add("linter")
    bank.add("arch", "architecture")
    assert (bank.room / "architecture" / "arch.md").exists()
    assert "not up to date" in capsys.readouterr().err


def test_a_draft_that_a_killed_process_left_is_no_obstacle(bank: Bank) -> None:
    (bank.room / "tooling").mkdir(parents=True)
    (bank.room / "tooling" / ".linter.md.draft").write_text("half")
    bank.add("linter")
    assert bank.files == ["tooling/linter.md"]


def test_a_missing_folder_fails_nothing_and_the_copy_comes_with_the_next_change(
    bank: Bank, capsys: pytest.CaptureFixture[str]
) -> None:
    bank.folder.rmdir()
    bank.add("linter")
    assert "No such file" in capsys.readouterr().err
    assert not bank.folder.exists(), "a project's folder is never made"
    assert bank.board.memories.write_files() == [], "of every project, those that are here"
    bank.folder.mkdir()
    bank.add("other")
    assert bank.files == ["tooling/linter.md", "tooling/other.md"]


def test_a_folder_that_can_not_be_written_fails_nothing(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Root may write everywhere, so the refusal is made.
    monkeypatch.setattr(os, "mkdir", refuse)
    bank.add("linter")
    assert "Permission denied" in capsys.readouterr().err
    monkeypatch.undo()
    assert bank.board.memories.write_files() == []
    assert bank.files == ["tooling/linter.md"]


def test_nothing_is_written_for_what_is_not_committed(bank: Bank) -> None:
    class Refused(Exception):
        pass

    def command(_: object) -> None:
        bank.add("linter")
        assert not bank.room.exists()
        raise Refused

    with pytest.raises(Refused):
        bank.board.store.write(command)
    assert not bank.room.exists()
    bank.board.store.write(lambda _: bank.add("linter"))
    bank.board.memories.write_files(bank.here)
    assert bank.files == ["tooling/linter.md"]


def test_who_comes_second_waits_for_the_first_and_reads_after_it(bank: Bank) -> None:
    """The first has read and not written yet; what the second has changed meanwhile must stand in the end."""
    bank.add("linter")
    lock = os.open(bank.folder / ".kumi" / "memory.lock", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    answers: list[list[str]] = []
    board = bank.board
    found = board.memories.preview(bank.here).memories
    reads: list[str] = []

    def read() -> list[object]:
        reads.append("read")
        return list(found)

    second = threading.Thread(target=lambda: answers.append(memory_files.write(bank.folder, read)))  # type: ignore[arg-type]
    second.start()
    # Another one's file, as the first would leave it.
    (bank.room / "tooling" / "linter.md").write_text((bank.room / "tooling" / "linter.md").read_text() + "stale\n")
    assert reads == []
    os.close(lock)
    second.join(60)
    assert (answers, reads) == ([[]], ["read"])
    assert "stale" not in (bank.room / "tooling" / "linter.md").read_text()


def test_a_lock_that_was_removed_meanwhile_is_taken_anew(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    bank.add("linter")
    lock = bank.folder / ".kumi" / "memory.lock"
    hold = memory_files._hold
    holds: list[int] = []

    def removed_once(descriptor: int, deadline: float) -> None:
        hold(descriptor, deadline)
        holds.append(descriptor)
        if len(holds) == 1:
            lock.unlink()

    monkeypatch.setattr(memory_files, "_hold", removed_once)
    bank.add("other")
    assert len(holds) == 2
    assert lock.exists()
    assert bank.files == ["tooling/linter.md", "tooling/other.md"]


def test_one_who_holds_the_lock_for_ever_holds_nobody_up(
    bank: Bank, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bank.add("linter")
    monkeypatch.setattr(memory_files, "_PATIENCE_SECONDS", 0.05)
    lock = os.open(bank.folder / ".kumi" / "memory.lock", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    bank.add("other")
    os.close(lock)
    assert "too long" in capsys.readouterr().err
    assert bank.board.memories.write_files() == []
    assert bank.files == ["tooling/linter.md", "tooling/other.md"]


WRITER = """
import os, sys
from kumihimo.app import now
from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.store.store import open_store

database, project, own = sys.argv[1:]
board = Board(open_store(database), now, Identifiers(os.urandom))
here = Place(project)
board.memories.add(here, own, category="own", title="mine")
for turn in range(12):
    board.memories.update(here, "shared", category=f"c{turn % 3}", title=f"{own} {turn}",
                          status=("active", "draft")[turn % 2])
    board.memories.update(here, own, status=("draft", "active")[turn % 2], content=str(turn))
"""


@pytest.fixture
def writers(bank: Bank) -> Iterator[list[subprocess.Popen[bytes]]]:
    bank.add("shared")
    words = [sys.executable, "-c", WRITER, str(bank.kit.database), bank.project.id]
    started = [subprocess.Popen([*words, f"own-{n}"]) for n in range(3)]
    yield started
    for one in started:
        one.kill()
        one.wait()


def test_processes_that_change_decisions_at_once_end_with_the_right_files(
    bank: Bank, writers: list[subprocess.Popen[bytes]]
) -> None:
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    standing = bank.board.memories.preview(bank.here).memories
    assert {memory.slug for memory in standing} >= {"own-0", "own-1", "own-2"}
    assert bank.files == sorted(f"{memory.category}/{memory.slug}.md" for memory in standing)
    for memory in standing:
        assert (bank.room / memory.category / f"{memory.slug}.md").read_text() == memory_files.page(memory)


def test_more_decisions_than_are_read_at_a_time_all_reach_the_agent_and_the_folder(
    bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kumihimo.services import memories

    monkeypatch.setattr(memories, "_SOME", 2)
    for slug in ("a", "b", "c", "d", "e"):
        bank.add(slug)
    assert [memory.slug for memory in bank.board.memories.preview(bank.here).memories] == ["a", "b", "c", "d", "e"]
    assert len(bank.files) == 5


def test_what_an_agent_is_given_is_what_the_preview_shows(bank: Bank) -> None:
    bank.add("linter", summary="One.", content="日本語\n\n```\ncode\n```")
    bank.add("draft", status="draft")
    shown = bank.board.memories.preview(bank.here).content
    assert "linter" in shown
    assert bank.board.memories.decisions(bank.project.id) == shown
    assert bank.board.memories.decisions(None) == ""


def test_our_folder_is_no_change_of_a_repository(bank: Bank) -> None:
    folder = bank.room.parent.parent
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    bank.board.memories.add(bank.here, "linter", category="tooling", title="Ruff")
    assert (bank.room / "tooling" / "linter.md").exists()
    status = subprocess.run(
        ["git", "-C", str(folder), "status", "--porcelain"], capture_output=True, text=True, check=True
    )
    assert status.stdout == ""
