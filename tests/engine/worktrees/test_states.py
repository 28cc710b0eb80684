"""Nothing is ever lost: every state that a worktree was found in, removed or kept, restored and compared byte by byte."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import GitError, UnsafeRepository
from kumihimo.domain.messages import LANGUAGES
from kumihimo.engine.worktrees.removal import Removal
from tests.engine.worktrees import states_of_files as files
from tests.engine.worktrees import states_of_history as history
from tests.engine.worktrees import states_of_surroundings as around
from tests.engine.worktrees.lab import NAME, Lab, contents, everybody, nobody


class Row(NamedTuple):
    arrange: Callable[..., None]
    why: str
    force: bool = False
    hostile: bool = False


ROWS = [
    Row(files.untouched, "merged"),
    Row(files.modified, "saved"),
    Row(files.staged, "saved"),
    Row(files.staged_then_changed_again, "saved"),
    Row(files.staged_then_deleted, "saved"),
    Row(files.announced, "saved"),
    Row(files.deleted, "saved"),
    Row(files.untracked, "saved"),
    Row(files.permissions, "saved"),
    Row(files.read_only, "saved"),
    Row(files.ignored, "saved"),
    Row(files.ignored_but_in_the_checkout_too, "merged"),
    Row(files.ignored_and_made_again, "merged"),
    Row(files.file_becomes_folder, "saved"),
    Row(files.folder_becomes_file, "saved"),
    Row(files.folder_becomes_file_in_the_index, "saved"),
    Row(files.links, "saved"),
    Row(files.odd_names, "saved"),
    Row(files.nested_repository, "saved"),
    Row(files.nested_repository_without_a_commit, "saved"),
    Row(files.nested_repository_that_is_ignored, "saved"),
    Row(files.huge, "too_large"),
    Row(files.huge, "saved", force=True),
    Row(files.huge_and_ignored, "too_large"),
    Row(files.hidden_from_git, "saved"),
    Row(files.line_endings, "saved"),
    Row(files.file_modes_off, "saved"),
    Row(files.filter_missing, "saved"),
    Row(files.filter_that_works, "saved"),
    Row(history.committed, "saved"),
    Row(history.fast_forwarded, "merged"),
    Row(history.merged, "merged"),
    Row(history.squash_merged, "merged"),
    Row(history.squash_merged_and_gone_on, "merged"),
    Row(history.rebase_merged, "merged"),
    Row(history.target_merged_into_it_then_squashed, "merged"),
    Row(history.half_merged, "saved"),
    Row(history.picked_but_for_what_its_merge_has, "saved"),
    Row(history.merged_but_for_white_space, "saved"),
    Row(history.merged_but_for_a_binary, "saved"),
    Row(history.conflicting, "saved"),
    Row(history.empty_commits, "merged"),
    Row(history.detached, "saved"),
    Row(history.left_behind, "saved"),
    Row(history.reset_away, "merged"),
    Row(history.unborn, "saved"),
    Row(history.branch_deleted, "saved"),
    Row(history.branch_renamed, "saved"),
    Row(history.on_another_branch, "saved"),
    Row(history.target_deleted, "saved"),
    Row(history.target_renamed, "saved"),
    Row(history.stashed, "merged"),
    Row(history.in_a_rebase, "operation"),
    Row(history.in_a_rebase, "saved", force=True),
    Row(history.in_a_merge, "operation"),
    Row(history.in_a_merge, "saved", force=True),
    Row(history.in_a_cherry_pick, "operation"),
    Row(history.in_a_cherry_pick, "saved", force=True),
    Row(history.in_a_bisect, "operation"),
    Row(history.in_a_bisect, "saved", force=True),
    Row(around.locked_by_a_person, "locked"),
    Row(around.locked_by_a_person, "locked", force=True),
    Row(around.project_moved, "saved"),
    Row(around.pointer_lost, "saved"),
    Row(around.admin_folder_gone, "broken"),
    Row(around.project_copied, "broken"),
    Row(around.replaced_by_a_link, "symlink"),
    Row(around.folder_is_a_link, "saved"),
    Row(around.left_over_lock, "saved"),
    Row(around.no_identity, "saved"),
    Row(around.failing_hooks, "saved"),
    Row(around.unusual_configuration, "saved"),
    Row(history.committed, "saved", hostile=True),
    Row(files.staged_then_changed_again, "saved", hostile=True),
    Row(around.submodule, "merged"),
    Row(around.submodule_changed, "submodule"),
    Row(around.submodule_changed, "submodule", force=True),
    Row(around.submodule_with_a_new_file, "submodule"),
    Row(around.submodule_with_a_commit, "submodule"),
    Row(around.submodule_left_out_with_a_commit, "submodule"),
]
# Where `removed` without a snapshot, what was in it besides the work that has arrived: made again, or copied.
NOT_KEPT = ("node_modules/", ".venv/", "build/", ".env", "lib/")


def named(row: Row) -> str:
    return (
        row.arrange.__name__ + (" by force" if row.force else "") + (" in a hostile environment" if row.hostile else "")
    )


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_nothing_is_lost(lab: Lab, row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    row.arrange(lab)
    before, index, commits = contents(lab.path), _index(lab), lab.commits()
    (lab.root / "hook-ran").unlink(missing_ok=True)
    with surroundings(monkeypatch, row):
        removal = lab.worktrees.remove(NAME, "main", live=nobody, force=row.force)
    assert (removal.why, removal.removed) == (row.why, row.why in ("merged", "saved")), removal.sentence
    # Git cleans up for good before anybody misses anything.
    lab.git("prune", "--expire=now", fine=(0, 128))
    if removal.why == "saved":
        assert not os.path.lexists(lab.path)
        with surroundings(monkeypatch, row):
            assert lab.worktrees.restore(NAME).path == lab.path.resolve()
    assert not (lab.root / "hook-ran").exists(), "a hook ran"
    _says_what_to_do(removal)
    if removal.why == "merged":
        _has_arrived(lab, before)
    else:
        assert contents(lab.path) == before
        # A worktree that was broken before has none; now it is mended.
        assert index in ("", _index(lab))
    assert commits <= lab.commits()


@contextmanager
def surroundings(monkeypatch: pytest.MonkeyPatch, row: Row) -> Generator[None]:
    with monkeypatch.context() as patched:
        for name, value in around.HOSTILE.items() if row.hostile else ():
            patched.setenv(name, value)
        yield


def _index(lab: Lab) -> str:
    """The index as a user sees it; in a broken worktree there is none."""
    if lab.git("rev-parse", "--is-inside-work-tree", at=lab.path, fine=(0, 128)) != "true":
        return ""
    if lab.git("rev-parse", "--show-toplevel", at=lab.path) != str(lab.path.resolve()):
        return ""
    return lab.git("-c", "filter.lfs.required=false", "-c", "filter.lfs.clean=", "ls-files", "--stage", at=lab.path) + (
        lab.git("-c", "filter.lfs.required=false", "-c", "filter.lfs.clean=", "-c", "core.fsmonitor=",
                "status", "--porcelain=v2", "--untracked-files=all", at=lab.path)
    )  # fmt: skip


def _says_what_to_do(removal: Removal) -> None:
    texts = [removal.said(language) for language in LANGUAGES]
    assert len(set(texts)) == len(LANGUAGES)
    told = any(word in texts[0] for word in ("`", "try again", "Start its task again"))
    assert told or removal.why == "merged"


def _has_arrived(lab: Lab, before: dict[str, tuple[str, bytes, int]]) -> None:
    """Every byte that went away is in the history of the target."""
    blobs = {line.split()[0] for line in lab.git("rev-list", "--objects", "main").splitlines()}
    for path, (kind, content, _) in before.items():
        if path.startswith(NOT_KEPT):
            continue
        hashed = subprocess.run(
            ["git", "hash-object", "--stdin"], cwd=lab.top, input=content, capture_output=True, check=True
        )
        assert kind == "link" or hashed.stdout.decode().strip() in blobs, path


def test_a_live_holder_keeps_it_even_by_force(lab: Lab) -> None:
    around.held(lab)
    before = contents(lab.path)
    removal = lab.worktrees.remove(NAME, "main", live=everybody, force=True)
    assert (removal.removed, removal.why) == (False, "held")
    assert "exec_9" in removal.sentence
    assert contents(lab.path) == before
    assert lab.worktrees.remove(NAME, "main", live=nobody).why == "saved", "who is dead holds nothing"
    assert lab.worktrees.holder(NAME) is None


def test_a_process_that_stands_in_it_keeps_it(lab: Lab) -> None:
    (lab.path / "deep").mkdir()
    with subprocess.Popen(["cat"], cwd=lab.path / "deep", stdin=subprocess.PIPE) as inside:
        removal = lab.worktrees.remove(NAME, "main", live=nobody, force=True)
        assert (removal.removed, removal.why) == (False, "in_use")
        assert str(inside.pid) in removal.sentence
        inside.communicate()
    assert lab.worktrees.remove(NAME, "main", live=nobody).removed


def test_one_that_git_has_moved_is_found_where_it_is(lab: Lab) -> None:
    around.moved_by_git(lab)
    moved = lab.root / "moved away"
    found = lab.worktrees.find(NAME)
    assert found is not None
    assert found.path == moved.resolve()
    before = contents(moved)
    assert lab.worktrees.remove(NAME, "main", live=nobody).why == "saved"
    assert not moved.exists()
    assert contents(lab.worktrees.restore(NAME).path) == before


@pytest.mark.parametrize(
    ("arrange", "why", "path"),
    [
        (around.deleted_by_hand, "gone", "feature.py"),
        (around.deleted_by_hand_with_staged_work, "saved", "staged.txt"),
        (around.deleted_by_hand_on_no_branch, "saved", "feature.py"),
    ],
)
def test_of_one_deleted_by_hand_all_that_git_has_comes_back(
    lab: Lab, arrange: Callable[[Lab], None], why: str, path: str
) -> None:
    arrange(lab)
    removal = lab.worktrees.remove(NAME, "main", live=nobody)
    assert (removal.removed, removal.why) == (True, why)
    assert lab.git("worktree", "list", "--porcelain").count("worktree ") == 1
    made = lab.worktrees.restore(NAME) if why == "saved" else lab.create()
    assert (made.path / path).exists()


@pytest.mark.parametrize("kind", ["spaces and 日本語", "bare", "shallow", "sha256", "separate"])
def test_any_kind_of_repository_will_do(tmp_path: Path, kind: str) -> None:
    lab = _repository(tmp_path, kind)
    lab.create()
    lab.work_commit("feature.py", "feature\n")
    lab.work("notes.txt", "notes\n")
    before, index = contents(lab.path), lab.index()
    removal = lab.worktrees.remove(NAME, "main", live=nobody)
    assert removal.why == "saved", removal.sentence
    lab.worktrees.restore(NAME)
    assert (contents(lab.path), lab.index()) == (before, index)


def _repository(root: Path, kind: str) -> Lab:
    if kind.startswith("spaces"):
        return Lab.made(root, kind)
    if kind == "sha256":
        lab = Lab(root)
        lab.git("init", "-q", "-b", "main", "--object-format=sha256", str(lab.top), at=root)
        lab.write("README.md", "one\n")
        lab.commit("begin")
        return lab
    origin = Lab.made(root, "origin")
    origin.write("more.txt", "more\n")
    origin.commit("more")
    options = {"bare": ["--bare"], "shallow": ["--depth=1"], "separate": [f"--separate-git-dir={root}/elsewhere"]}
    lab = Lab(root)
    lab.git("clone", "-q", *options[kind], f"file://{origin.top}", str(lab.top), at=root)
    return lab


def test_a_sparse_worktree_comes_back_as_sparse(lab: Lab) -> None:
    lab.create(scope=Scope(exclude=("docs",)))
    assert not (lab.path / "docs").exists()
    lab.work("notes.txt", "notes\n")
    before, index = contents(lab.path), lab.index()
    assert lab.worktrees.remove(NAME, "main", live=nobody).why == "saved"
    lab.worktrees.restore(NAME)
    assert (contents(lab.path), lab.index()) == (before, index)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user_is_refused_with_what_to_do(lab: Lab) -> None:
    worktrees = lab.worktrees
    for place in (lab.top, lab.top / ".git"):
        os.chown(place, 12345, 12345)
    with pytest.raises(UnsafeRepository, match=r"safe\.directory"):
        worktrees.remove(NAME, "main", live=nobody)
    assert lab.path.exists()


def test_a_repository_that_can_not_be_written_loses_nothing(lab: Lab) -> None:
    files.untracked(lab)
    before = contents(lab.path)
    # A file where git wants a folder: as a full or read-only disk it refuses every new object, also to root.
    objects = lab.top / ".git/objects"
    for number in range(256):
        place = objects / f"{number:02x}"
        if not place.exists():
            place.touch()
    with pytest.raises(GitError):
        lab.worktrees.remove(NAME, "main", live=nobody)
    assert contents(lab.path) == before
