"""Worktrees are made, taken up again, mended, and kept within their scope."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import (
    BranchTaken,
    FilterMissing,
    GitError,
    InvalidValue,
    UnknownRevision,
    WorktreeHeld,
    WorktreeInTheWay,
)
from tests.engine.worktrees import states_of_surroundings as around
from tests.engine.worktrees.lab import BRANCH, NAME, Lab, contents, everybody, nobody

EVERYTHING = Scope()


def test_a_worktree_begins_at_its_base_and_is_held(bench: Lab) -> None:
    base = bench.git("rev-parse", "main")
    made = bench.worktrees.create(NAME, BRANCH, "main", holder="exec_1", scope=EVERYTHING)
    assert (made.branch, made.base, made.head, made.path) == (BRANCH, base, base, bench.path)
    assert bench.worktrees.holder(NAME) == "exec_1"
    assert "locked kumi: held by exec_1" in bench.git("worktree", "list", "--porcelain")
    assert bench.git("status", "--porcelain") == "", "the user's checkout does not show it"
    assert (bench.path / "src/app.py").read_bytes() == (bench.top / "src/app.py").read_bytes()


def test_asked_again_the_same_one_is_given_with_all_that_was_done(lab: Lab) -> None:
    lab.work_commit("feature.py", "feature\n")
    lab.work("notes.txt", "notes\n")
    before = contents(lab.path)
    base = lab.worktrees.all()[0].base
    lab.write("README.md", "the target goes on\n")
    lab.commit("go on")
    again = lab.create()
    assert (again.branch, again.base, contents(lab.path)) == (BRANCH, base, before)


@pytest.mark.parametrize("dirty", [False, True])
def test_a_second_session_goes_on_from_the_unmerged_work_of_the_first(lab: Lab, dirty: bool) -> None:
    head = lab.work_commit("feature.py", "feature\n")
    if dirty:
        lab.work("README.md", "half done\n")
    before = contents(lab.path)
    second = lab.create("task-1-s2")
    assert (second.branch, second.head) == ("task-1-s2", head)
    assert contents(lab.path) == before
    assert lab.git("rev-parse", BRANCH) == head, "the first branch stays where it was"


@pytest.mark.parametrize("how", ["--ff-only", "--squash"])
def test_a_second_session_starts_afresh_where_the_first_has_arrived(lab: Lab, how: str) -> None:
    lab.work_commit("feature.py", "feature\n")
    lab.git("merge", "-q", how, BRANCH)
    lab.write("other.txt", "other\n")
    main = lab.commit("go on")
    second = lab.create("task-1-s2")
    assert (second.branch, second.head, second.base) == ("task-1-s2", main, main)


def test_work_in_the_way_of_a_fresh_start_is_kept(lab: Lab) -> None:
    lab.write("other.txt", "from the target\n")
    lab.commit("go on")
    lab.work("other.txt", "untracked, and mine\n")
    second = lab.create("task-1-s2")
    assert second.branch == "task-1-s2"
    assert (lab.path / "other.txt").read_text() == "untracked, and mine\n"


def test_in_the_middle_of_a_rebase_it_is_taken_up_as_it_is(lab: Lab) -> None:
    lab.work_commit("README.md", "mine\n")
    lab.write("README.md", "theirs\n")
    lab.commit("theirs")
    lab.in_worktree("rebase", "main", fine=(1,))
    before = contents(lab.path)
    assert lab.create("task-1-s2").branch is None
    assert contents(lab.path) == before
    assert "rebase" in lab.in_worktree("status")


def test_what_a_removed_branch_had_is_there_when_it_is_made_again(lab: Lab) -> None:
    base = lab.git("rev-parse", "main")
    head = lab.work_commit("feature.py", "feature\n")
    removal = lab.worktrees.remove(NAME, "main", live=nobody)
    again = lab.create()
    assert (again.head, again.base) == (head, base)
    assert again.snapshot == removal.snapshot, "the snapshot is mentioned"


@pytest.mark.parametrize(
    "arrange",
    [around.deleted_by_hand, around.project_moved, around.pointer_lost, around.admin_folder_gone, around.moved_by_git],
)
def test_what_was_moved_or_broken_is_mended(lab: Lab, arrange: object) -> None:
    arrange(lab)  # type: ignore[operator]
    before = contents(lab.path) if lab.path.exists() else {}
    made = lab.create("task-1-s2")
    assert made.branch in (BRANCH, "task-1-s2")
    assert contents(made.path).items() >= before.items()
    assert lab.git("status", "--porcelain", at=made.path) in ("", "?? empty.txt\n?? notes/\n?? picture.bin")


def test_an_adoption_that_was_cut_off_is_taken_back_first(lab: Lab) -> None:
    around.admin_folder_gone(lab)
    before = contents(lab.path)
    lab.path.rename(lab.folder / f".adopting-{NAME}")
    assert lab.create().branch == BRANCH
    assert contents(lab.path) == before
    assert list(lab.folder.iterdir()) == [lab.path]


def test_staged_work_of_a_folder_deleted_by_hand_is_saved_before_it_is_made_again(lab: Lab) -> None:
    around.deleted_by_hand_with_staged_work(lab)
    made = lab.create()
    assert made.snapshot is not None
    assert not (made.path / "staged.txt").exists()
    assert "only in the index" in lab.git("cat-file", "-p", f"{made.snapshot}:staged/000000")


@pytest.mark.parametrize("kind", ["files", "file", "link", "repository"])
def test_what_is_not_ours_is_left_alone(bench: Lab, kind: str) -> None:
    bench.folder.mkdir(parents=True)
    if kind == "files":
        bench.write(f"{NAME}/mine.txt", "mine\n", bench.folder)
    elif kind == "file":
        bench.write(NAME, "mine\n", bench.folder)
    elif kind == "link":
        bench.path.symlink_to(bench.root)
    else:
        Lab.made(bench.folder, NAME)
    before = contents(bench.folder)
    with pytest.raises(WorktreeInTheWay, match="Move it"):
        bench.create()
    assert contents(bench.folder) == before
    assert bench.worktrees.holder(NAME) is None, "what could not be had is not held"


def test_the_original_of_a_copied_project_is_left_alone(lab: Lab) -> None:
    original = lab.path
    around.project_copied(lab)
    before = contents(original)
    with pytest.raises(WorktreeInTheWay):
        lab.create()
    assert contents(original) == before
    assert lab.git("rev-parse", "--absolute-git-dir", at=original).startswith(str(lab.root / "project"))


def test_a_branch_that_somebody_is_on_is_refused(bench: Lab) -> None:
    bench.git("worktree", "add", "-q", "-b", BRANCH, str(bench.root / "theirs"))
    with pytest.raises(BranchTaken, match="Switch that folder"):
        bench.create()
    assert not bench.path.exists()


def test_a_base_that_is_not_there_is_refused(bench: Lab) -> None:
    with pytest.raises(UnknownRevision, match="git branch -a"):
        bench.create(base="nowhere")


@pytest.mark.parametrize("name", ["", "..", "a/b", "a..b", "-x", "x.lock", "x.", "a b", "日本", "x\n"])
def test_a_name_that_can_not_be_a_folder_and_a_ref_is_refused(bench: Lab, name: str) -> None:
    with pytest.raises(InvalidValue):
        bench.worktrees.create(name, BRANCH, "main", holder="exec_1", scope=EVERYTHING)


@pytest.mark.parametrize("branch", ["", "a..b", "-x", "a b", "x.lock", "@{-1}"])
def test_a_branch_that_git_would_not_take_is_refused(bench: Lab, branch: str) -> None:
    with pytest.raises(GitError):
        bench.create(branch)
    assert bench.worktrees.holder(NAME) is None


def test_where_a_filter_does_not_run_nothing_half_made_is_left(bench: Lab) -> None:
    bench.write(".gitattributes", "*.bin filter=lfs\n")
    bench.write("model.bin", "pointer\n")
    bench.commit("a large file")
    bench.git("config", "filter.lfs.smudge", "no-such-program smudge %f")
    bench.git("config", "filter.lfs.required", "true")
    with pytest.raises(FilterMissing, match="git lfs install"):
        bench.create()
    assert not bench.path.exists()
    assert bench.git("branch", "--list", BRANCH) == ""
    bench.git("config", "--remove-section", "filter.lfs")
    assert bench.create().branch == BRANCH


def test_who_holds_it_is_named_to_the_next(lab: Lab) -> None:
    lab.worktrees.create(NAME, BRANCH, "main", holder="exec_1", scope=EVERYTHING)
    with pytest.raises(WorktreeHeld, match="exec_1"):
        lab.worktrees.create(NAME, BRANCH, "main", holder="exec_2", scope=EVERYTHING)
    with pytest.raises(WorktreeHeld):
        lab.worktrees.create(NAME, BRANCH, "main", holder="exec_2", scope=EVERYTHING, live=everybody)
    lab.worktrees.create(NAME, BRANCH, "main", holder="exec_2", scope=EVERYTHING, live=nobody)
    assert lab.worktrees.holder(NAME) == "exec_2"
    assert "held by exec_2" in lab.git("worktree", "list", "--porcelain")


def test_excluded_files_are_not_checked_out_and_come_with_another_scope(bench: Lab) -> None:
    bench.create(scope=Scope(exclude=("docs/", "**/*.py")))
    assert sorted(contents(bench.path)) == [".gitignore", "README.md"]
    assert bench.in_worktree("status", "--porcelain") == ""
    bench.work_commit("new.txt", "new\n")
    bench.create(scope=Scope(exclude=("docs",)))
    assert (bench.path / "src/app.py").exists()
    assert not (bench.path / "docs").exists()
    bench.create(scope=EVERYTHING)
    assert (bench.path / "docs/guide.md").exists()
    assert (bench.top / "docs/guide.md").exists()
    assert bench.git("status", "--porcelain") == "", "the user's checkout is not sparse"


def writable(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))


def test_what_may_not_be_written_is_read_only_until_the_scope_changes(bench: Lab) -> None:
    (bench.top / "src/app.py").chmod(0o755)
    bench.commit("a program")
    usual = {path: mode for path, (_, _, mode) in contents(bench.top / "src").items()}
    bench.create(scope=Scope(write=("docs/**",)))
    assert writable(bench.path / "docs/guide.md")
    assert not writable(bench.path / "README.md")
    assert not writable(bench.path / "src/app.py")
    assert os.access(bench.path / "src/app.py", os.X_OK)
    assert bench.in_worktree("status", "--porcelain") == "", "git sees no change"
    bench.create(scope=Scope(write=("src",)))
    assert (writable(bench.path / "src/app.py"), writable(bench.path / "docs/guide.md")) == (True, False)
    bench.create(scope=EVERYTHING)
    assert all(writable(bench.path / path) for path in contents(bench.path))
    assert {path: mode for path, (_, _, mode) in contents(bench.path / "src").items()} == usual


def test_a_restored_worktree_is_writable_again_for_a_run_without_a_scope(bench: Lab) -> None:
    bench.create(scope=Scope(write=("docs",)))
    bench.work("docs/new.md", "new\n")
    assert bench.worktrees.remove(NAME, "main", live=nobody).why == "saved"
    bench.worktrees.restore(NAME)
    assert not writable(bench.path / "README.md")
    bench.create(scope=EVERYTHING)
    assert all(writable(bench.path / path) for path in contents(bench.path))


def test_an_adopted_worktree_stays_sparse(bench: Lab) -> None:
    bench.create(scope=Scope(exclude=("docs",)))
    around.admin_folder_gone(bench)
    bench.create(scope=Scope(exclude=("docs",)))
    assert not (bench.path / "docs").exists()
    assert " D" not in bench.in_worktree("status", "--porcelain")


def test_a_link_is_never_followed_to_make_something_read_only(bench: Lab) -> None:
    outside = bench.write("outside.txt", "theirs\n", bench.root)
    (bench.top / "link").symlink_to(outside)
    bench.commit("a link")
    bench.create(scope=Scope(write=("docs",)))
    assert writable(outside)


def test_our_folder_is_excluded_once(bench: Lab) -> None:
    exclude = bench.top / ".git/info/exclude"
    exclude.write_text("mine")
    bench.create()
    bench.create()
    assert exclude.read_text() == "mine\n.kumi/\n"
    shutil.rmtree(exclude.parent)
    bench.create()
    assert exclude.read_text() == ".kumi/\n"


def test_all_lists_ours_and_not_those_of_others(lab: Lab) -> None:
    lab.git("worktree", "add", "-q", "-b", "theirs", str(lab.root / "theirs"))
    lab.worktrees.create("exec_7", "run-7", "main", holder="exec_7", scope=EVERYTHING)
    assert [worktree.name for worktree in lab.worktrees.all()] == ["exec_7", NAME]
    assert lab.worktrees.find("theirs") is None
    shutil.rmtree(lab.path)
    assert [worktree.path.exists() for worktree in lab.worktrees.all()] == [True, False]
