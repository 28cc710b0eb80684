"""`gc`, `prune` and `restore`: what they do, what they keep, and what they say."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import GitError, SnapshotNotFound, WorktreeInTheWay, WorktreeNotFound
from kumihimo.domain.messages import worktrees as texts
from kumihimo.engine.worktrees import removing, snapshot
from kumihimo.engine.worktrees.removal import Removal, Why
from tests.engine.worktrees import states_of_history as history
from tests.engine.worktrees.lab import BRANCH, NAME, Lab, contents, everybody, nobody


def another(lab: Lab, name: str) -> None:
    lab.worktrees.create(name, f"{name}-s1", "main", holder="exec_1", scope=Scope())
    lab.worktrees.release(name, "exec_1")


def test_gc_removes_what_has_arrived_and_says_why_it_keeps_the_rest(lab: Lab) -> None:
    for number in range(2, 8):
        another(lab, f"task-{number}")
    history.squash_merged(lab)
    at = {number: lab.folder / f"task-{number}" for number in range(2, 8)}
    lab.write("own.txt", "own\n", at[2])
    lab.commit("unmerged", at[2])
    lab.write("notes.txt", "uncommitted, and all there is\n", at[3])
    lab.worktrees.hold("task-4", "exec_4")
    shutil.rmtree(at[5])
    lab.write("left.log", "left over\n", at[6])
    lab.git("worktree", "lock", str(at[7]))
    targets = {f"task-{number}": "main" for number in range(1, 8)}
    expected = {
        "task-1": (True, "merged"),
        "task-2": (False, "unmerged"),
        "task-3": (False, "unmerged"),
        "task-4": (False, "held"),
        "task-5": (True, "gone"),
        "task-6": (True, "saved"),
        "task-7": (False, "locked"),
    }
    worktrees = lab.worktrees
    would = {
        removal.name: (removal.removed, removal.why) for removal in worktrees.gc(targets, live=everybody, dry_run=True)
    }
    assert would == {**expected, "task-6": (True, "would_save")}
    assert all(path.exists() for number, path in at.items() if number != 5), "a dry run touches nothing"
    assert worktrees.snapshots("task-6") == []
    done = worktrees.gc(targets, live=everybody)
    assert {removal.name: (removal.removed, removal.why) for removal in done} == expected
    assert {removal.name for removal in done if removal.removed} == {"task-1", "task-5", "task-6"}
    assert [worktree.name for worktree in worktrees.all()] == ["task-2", "task-3", "task-4", "task-7"]
    assert "kumi merge 2" in next(removal.sentence for removal in done if removal.name == "task-2")
    assert lab.git("branch", "--list", BRANCH), "branches are nobody's to delete"


def test_after_a_merge_what_was_left_over_is_saved_and_does_not_keep_it(lab: Lab) -> None:
    history.fast_forwarded(lab)
    lab.work("scratch.txt", "left over\n")
    [removal] = lab.worktrees.gc({}, live=nobody)
    assert (removal.why, removal.removed) == ("saved", True)


def test_gc_keeps_one_whose_target_is_gone(lab: Lab) -> None:
    history.target_deleted(lab)
    [removal] = lab.worktrees.gc({NAME: "main"}, live=nobody)
    assert (removal.why, removal.removed) == ("target_gone", False)
    assert BRANCH in removal.sentence


def test_gc_goes_on_where_one_can_not_be_looked_at(lab: Lab) -> None:
    another(lab, "task-2")
    (lab.top / ".git/worktrees" / NAME / "index").write_text("not an index")
    one, other = lab.worktrees.gc({}, live=nobody)
    assert (one.why, one.removed, other.why) == ("failed", False, "merged")
    assert "index" in one.sentence
    assert lab.path.exists()


def test_prune_forgets_only_what_is_gone_and_held_by_nobody(lab: Lab) -> None:
    for name in ("task-2", "task-3", "task-4"):
        another(lab, name)
    lab.work("staged.txt", "staged\n")
    lab.in_worktree("add", "--all")
    lab.worktrees.hold("task-3", "exec_3")
    for name in (NAME, "task-2", "task-3"):
        shutil.rmtree(lab.folder / name)
    done = lab.worktrees.prune()
    assert {removal.name: removal.why for removal in done} == {NAME: "saved", "task-2": "gone"}
    assert [worktree.name for worktree in lab.worktrees.all()] == ["task-3", "task-4"]


def test_a_removal_that_was_cut_off_is_finished_later(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.work("notes.txt", "notes\n")
    before = contents(lab.path)

    class Cut(BaseException):
        pass

    def cut(*_: object) -> None:
        raise Cut

    with monkeypatch.context() as patched:
        patched.setattr(removing, "_forget", cut)
        with pytest.raises(Cut):
            lab.worktrees.remove(NAME, "main", live=nobody)
    assert not lab.path.exists()
    assert [removal.why for removal in lab.worktrees.prune()] == ["gone"]
    assert list(lab.folder.iterdir()) == [], "what was put aside is gone too"
    assert contents(lab.worktrees.restore(NAME).path) == before


@pytest.mark.parametrize("kind", ["content", "new file"])
def test_a_file_that_is_written_while_it_is_saved_keeps_the_worktree(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    lab.work("notes.txt", "notes\n")
    take = snapshot.take

    def interrupted(*arguments: object) -> snapshot.Snapshot:
        saved = take(*arguments)  # type: ignore[arg-type]
        lab.work("notes.txt" if kind == "content" else "late.txt", "written late\n")
        return saved

    monkeypatch.setattr(snapshot, "take", interrupted)
    removal = lab.worktrees.remove(NAME, "main", live=nobody)
    assert (removal.removed, removal.why) == (False, "changed_meanwhile")
    assert "written late\n" in [
        (lab.path / name).read_text() for name in ("notes.txt", "late.txt") if (lab.path / name).exists()
    ]
    assert lab.in_worktree("status", "--porcelain")


@contextmanager
def as_somebody(folder: Path) -> Generator[None]:
    """As a user whom permissions bind."""
    if os.geteuid() != 0:
        yield
        return
    for place in [folder, *folder.rglob("*")]:
        os.lchown(place, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o000, 0o300, 0o500])
def test_a_folder_that_can_not_be_looked_into_is_never_taken_for_empty(
    monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Tester")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "tester@example.org")
    with tempfile.TemporaryDirectory(prefix="kumi-test-") as folder:
        monkeypatch.setenv("HOME", folder)
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
        lab = Lab.made(Path(folder).resolve())
        lab.create()
        lab.work("closed/precious.txt", "precious\n")
        closed = lab.path / "closed"
        with as_somebody(Path(folder)):
            closed.chmod(mode)
            if mode & 0o400 and mode & 0o100:
                assert lab.worktrees.remove(NAME, "main", live=nobody).why == "saved"
                lab.worktrees.restore(NAME)
            else:
                with pytest.raises(GitError, match="closed"):
                    lab.worktrees.remove(NAME, "main", live=nobody)
                closed.chmod(0o700)
            assert (closed / "precious.txt").read_text() == "precious\n"


def test_restore_gives_the_newest_and_leaves_the_others(lab: Lab) -> None:
    for number in range(3):
        lab.work("notes.txt", f"{number}\n")
        lab.worktrees.remove(NAME, "main", live=nobody)
        if number < 2:
            lab.create()
    assert len(lab.worktrees.snapshots(NAME)) == 3
    restored = lab.worktrees.restore(NAME)
    assert (restored.path / "notes.txt").read_text() == "2\n"
    assert restored.snapshot == lab.worktrees.snapshots(NAME)[-1]


def test_restore_never_overwrites_what_is_there(lab: Lab) -> None:
    lab.work("notes.txt", "old\n")
    lab.worktrees.remove(NAME, "main", live=nobody)
    lab.create()
    lab.work("notes.txt", "new\n")
    with pytest.raises(WorktreeInTheWay, match="Move it"):
        lab.worktrees.restore(NAME)
    assert (lab.path / "notes.txt").read_text() == "new\n"


@pytest.mark.parametrize("fate", ["gone on", "checked out", "deleted"])
def test_restore_never_moves_a_branch_back(lab: Lab, fate: str) -> None:
    head = lab.work_commit("feature.py", "feature\n")
    lab.work("notes.txt", "notes\n")
    lab.worktrees.remove(NAME, "main", live=nobody)
    if fate == "gone on":
        lab.git("update-ref", f"refs/heads/{BRANCH}", "main")
    elif fate == "checked out":
        lab.git("worktree", "add", "-q", str(lab.root / "theirs"), BRANCH)
    else:
        lab.git("branch", "-q", "-D", BRANCH)
        lab.git("gc", "-q", "--prune=now")
    restored = lab.worktrees.restore(NAME)
    assert restored.head == head
    assert restored.branch == (BRANCH if fate == "deleted" else f"{BRANCH}-restored")
    assert (restored.path / "notes.txt").read_text() == "notes\n"


def test_a_restored_rebase_can_be_finished(lab: Lab) -> None:
    history.in_a_rebase(lab)
    assert lab.worktrees.remove(NAME, "main", live=nobody, force=True).why == "saved"
    lab.git("gc", "-q", "--prune=now")
    lab.worktrees.restore(NAME)
    lab.work("README.md", "both\n")
    lab.in_worktree("add", "README.md")
    lab.in_worktree("-c", "core.editor=true", "rebase", "--continue")
    assert lab.in_worktree("symbolic-ref", "--short", "HEAD") == BRANCH
    assert lab.in_worktree("log", "--format=%s", "main..HEAD") == "work"


def test_what_was_never_saved_or_never_there_is_said(lab: Lab) -> None:
    with pytest.raises(SnapshotNotFound, match="for-each-ref"):
        lab.worktrees.restore(NAME)
    with pytest.raises(WorktreeNotFound, match="kumi worktree ls"):
        lab.worktrees.remove("task-99", "main", live=nobody)
    with pytest.raises(WorktreeNotFound):
        lab.worktrees.hold("task-99", "exec_1")


def test_a_snapshot_is_named_by_its_time_and_made_by_nobody(lab: Lab) -> None:
    lab.work("notes.txt", "notes\n")
    worktrees = lab.worktrees
    worktrees._site.now = lambda: datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    removal = worktrees.remove(NAME, "main", live=nobody)
    assert removal.snapshot == f"refs/kumi/snapshots/{NAME}/20260102T030405000006Z"
    assert lab.git("log", "-1", "--format=%an <%ae>", removal.snapshot) == "Kumihimo <kumihimo@localhost>"
    lab.git("fsck", "--strict")


def test_every_reason_speaks_every_language_with_the_same_facts() -> None:
    def placeholders(text: str) -> set[str]:
        return {name for _, name, _, _ in Formatter().parse(text) if name}

    assert set(texts("en")) == set(texts("ja")) == set(get_args(Why))
    for why, text in texts("en").items():
        assert placeholders(text) == placeholders(texts("ja")[why]), why
        assert text != texts("ja")[why] or why == "failed"


def test_a_removal_can_be_said_in_japanese() -> None:
    assert "kumi worktree restore 1" in Removal(NAME, True, "saved", "refs/x").said("ja")
