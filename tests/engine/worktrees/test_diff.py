"""What was done in a worktree, also while it is being done."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from kumihimo.domain.agent import Scope
from kumihimo.engine.worktrees.diff import FileChange
from kumihimo.engine.worktrees.worktree import Worktree
from tests.engine.worktrees import states_of_files as files
from tests.engine.worktrees import states_of_history as history
from tests.engine.worktrees.lab import NAME, Lab, contents


def found(lab: Lab) -> Worktree:
    worktree = lab.worktrees.find(NAME)
    assert worktree is not None
    return worktree


def test_committed_staged_changed_and_untracked_work_is_one_diff(lab: Lab) -> None:
    head = lab.work_commit("feature.py", "a\nb\n", "the feature")
    lab.work("README.md", "one\nzwei\nthree\nfour\n")
    lab.in_worktree("add", "README.md")
    (lab.path / "docs/guide.md").unlink()
    lab.in_worktree("mv", "src/app.py", "src/main program.py")
    lab.work("新しい.bin", b"\0\1")
    lab.work("trace.log", "ignored\n")
    before = lab.index()
    diff = lab.worktrees.diff(found(lab), found(lab).base)
    assert diff.files == (
        FileChange("README.md", "modified", 2, 1),
        FileChange("docs/guide.md", "deleted", 0, 1),
        FileChange("feature.py", "added", 2, 0),
        FileChange("src/main program.py", "renamed", 0, 0, old_path="src/app.py"),
        FileChange("新しい.bin", "added", binary=True),
    )
    assert (diff.insertions, diff.deletions) == (4, 2)
    assert [(commit.id, commit.subject, commit.author) for commit in diff.commits] == [(head, "the feature", "Tester")]
    assert lab.index() == before


def test_a_file_that_was_moved_counts_with_both_its_paths(lab: Lab) -> None:
    lab.in_worktree("mv", "src/app.py", "docs/app.py")
    worktree = found(lab)
    assert lab.worktrees.changed_paths(worktree, worktree.base) == ["docs/app.py", "src/app.py"]
    assert lab.worktrees.violations(worktree, worktree.base, Scope(write=("docs",))) == ["src/app.py"]
    assert lab.worktrees.violations(worktree, worktree.base, Scope()) == []


def test_what_was_never_checked_out_is_not_a_deletion(bench: Lab) -> None:
    scope = Scope(write=("src",), exclude=("docs",))
    bench.create(scope=scope)
    bench.work("src/new.py", "new\n")
    worktree = found(bench)
    assert bench.worktrees.violations(worktree, worktree.base, scope) == []
    bench.work("docs/sneaked.md", "in\n")
    assert bench.worktrees.violations(worktree, worktree.base, scope) == ["docs/sneaked.md"]


@pytest.mark.parametrize(
    ("arrange", "path"),
    [
        (files.odd_names, "日本語/ファイル.txt"),
        (files.nested_repository, "vendor/inner"),
        (files.nested_repository_without_a_commit, "src/app.py"),
        (files.links, "nowhere"),
        (files.file_becomes_folder, "README.md/part.md"),
        (files.folder_becomes_file, "docs"),
        (files.filter_missing, "model.bin"),
        (files.line_endings, "windows.txt"),
        (files.read_only, "kept/away.txt"),
        (history.unborn, "second.txt"),
    ],
)
def test_a_tree_is_made_of_every_state_without_touching_it(lab: Lab, arrange: Callable[[Lab], None], path: str) -> None:
    arrange(lab)
    before = contents(lab.path)
    tree = lab.worktrees.state_tree(found(lab))
    assert path in lab.git("ls-tree", "-r", "-z", "--name-only", tree).split("\0")
    assert contents(lab.path) == before


def test_a_change_in_the_moment_of_the_index_is_seen(lab: Lab) -> None:
    place = lab.work("README.md", "AAAA\n")
    lab.in_worktree("add", "--all")
    written = place.stat()
    place.write_text("BBBB\n")
    os.utime(place, ns=(written.st_atime_ns, written.st_mtime_ns))
    tree = lab.worktrees.state_tree(found(lab))
    assert lab.git("show", f"{tree}:README.md") == "BBBB"


def test_a_tree_of_a_conflict_has_the_file_with_its_marks(lab: Lab) -> None:
    history.in_a_merge(lab)
    before = lab.index()
    tree = lab.worktrees.state_tree(found(lab))
    assert "<<<<<<<" in lab.git("show", f"{tree}:README.md")
    assert lab.index() == before


def test_a_lock_that_was_left_over_is_not_in_the_way_of_looking(lab: Lab) -> None:
    lab.work("new.txt", "new\n")
    (lab.top / ".git/worktrees" / NAME / "index.lock").touch()
    worktree = found(lab)
    assert lab.worktrees.changed_paths(worktree, worktree.base) == ["new.txt"]
    assert lab.worktrees.examine(worktree, "main").untracked == ("new.txt",)
