"""Work on its way to its target: conflicts that come, rebases that can't break anything, fast-forwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import (
    ChangesInTheWay,
    GitError,
    GitLocked,
    NotFastForward,
    UnfinishedOperation,
    UnknownRevision,
)
from kumihimo.engine.worktrees.merging import Conflict, Rebased, coming_conflicts, fast_forward, is_merged, rebase
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.worktree import Worktree
from tests.engine.worktrees import states_of_history as history
from tests.engine.worktrees import states_of_surroundings as around
from tests.engine.worktrees.lab import BRANCH, NAME, Lab, contents


def found(lab: Lab, name: str = NAME) -> Worktree:
    worktree = lab.worktrees.find(name)
    assert worktree is not None
    return worktree


def repository(lab: Lab) -> Repository:
    return Repository.open(lab.top)


def test_a_conflict_shows_before_anything_is_committed(lab: Lab) -> None:
    lab.worktrees.create("task-2", "task-2-s1", "main", holder="exec_2", scope=Scope())
    lab.work("README.md", "one\nmine\nthree\n")
    lab.work("docs/guide.md", "mine\n")
    lab.work("日本語.txt", "mine\n")
    lab.write(".kumi/worktrees/task-2/README.md", "one\ntheirs\nthree\n")
    lab.write(".kumi/worktrees/task-2/日本語.txt", "theirs\n")
    before = lab.index()
    one, other = (lab.worktrees.state_tree(found(lab, name)) for name in (NAME, "task-2"))
    base = found(lab).base
    assert coming_conflicts(repository(lab), one, other, base) == ["README.md", "日本語.txt"]
    assert coming_conflicts(repository(lab), other, one, base) == ["README.md", "日本語.txt"]
    assert coming_conflicts(repository(lab), one, base, base) == []
    assert lab.index() == before


def test_branches_know_their_own_base(lab: Lab) -> None:
    history.conflicting(lab)
    assert coming_conflicts(repository(lab), BRANCH, "main") == ["README.md"]
    assert coming_conflicts(repository(lab), BRANCH, f"{BRANCH}~1") == []


def test_a_file_that_one_deletes_and_the_other_changes_is_a_conflict(lab: Lab) -> None:
    lab.work_commit("README.md", "changed\n")
    (lab.top / "README.md").unlink()
    lab.commit("delete")
    assert coming_conflicts(repository(lab), BRANCH, "main") == ["README.md"]


def test_a_rebase_puts_the_work_on_the_target_and_keeps_who_wrote_it(lab: Lab) -> None:
    lab.work("feature.py", "feature\n")
    lab.in_worktree("add", "--all")
    lab.in_worktree(
        "commit", "-q", "--author=Ann Author <ann@example.org>", "--date=2020-02-02T02:02:02+0900", "-m",
        "A subject\n\n# not a comment\n\nBody",
    )  # fmt: skip
    lab.in_worktree("commit", "-q", "--allow-empty", "-m", "a milestone")
    lab.work_commit("README.md", "one\ntwo\nthree\nfour\n", "more")
    lab.write("other.txt", "other\n")
    main = lab.commit("go on")
    done = rebase(found(lab), "main")
    assert isinstance(done, Rebased)
    assert lab.in_worktree("symbolic-ref", "--short", "HEAD") == BRANCH
    assert lab.in_worktree("rev-parse", "HEAD") == done.head
    assert lab.in_worktree("status", "--porcelain") == ""
    assert lab.in_worktree("log", "--format=%s", "main..HEAD").splitlines() == ["more", "a milestone", "A subject"]
    first = lab.in_worktree("log", "-1", "--format=%an|%ae|%ad|%cn|%B", "--date=iso", "HEAD~2")
    assert first == "Ann Author|ann@example.org|2020-02-02 02:02:02 +0900|Tester|A subject\n\n# not a comment\n\nBody\n"
    assert found(lab).base == main, "what the worktree did is measured from there now"
    assert [file.path for file in lab.worktrees.diff(found(lab), main).files] == ["README.md", "feature.py"]


def test_a_conflict_leaves_the_worktree_exactly_as_it_was(lab: Lab) -> None:
    first = lab.work_commit("feature.py", "feature\n")
    second = lab.work_commit("README.md", "mine\n")
    lab.work("notes.txt", "untracked\n")
    lab.write("README.md", "theirs\n")
    lab.commit("theirs")
    before, index, reflog = contents(lab.path), lab.index(), lab.in_worktree("reflog")
    assert rebase(found(lab), "main") == Conflict(("README.md",), second)
    assert (contents(lab.path), lab.index(), lab.in_worktree("reflog")) == (before, index, reflog)
    assert lab.git("rev-parse", f"{BRANCH}~1") == first


def test_what_the_target_has_already_is_left_out(lab: Lab) -> None:
    history.half_merged(lab)
    assert isinstance(rebase(found(lab), "main"), Rebased)
    assert lab.in_worktree("diff", "--name-only", "main..HEAD") == "second.py"
    assert lab.in_worktree("rev-list", "--count", "main..HEAD") == "1"


def test_work_that_has_merged_its_target_fits_as_it_is(lab: Lab) -> None:
    lab.work_commit("feature.py", "feature\n")
    lab.write("other.txt", "other\n")
    lab.commit("go on")
    lab.in_worktree("merge", "-q", "-m", "catch up", "main")
    head = lab.in_worktree("rev-parse", "HEAD")
    assert rebase(found(lab), "main") == Rebased(head)
    fast_forward(repository(lab), "main", head)
    assert lab.git("rev-parse", "main") == head


@pytest.mark.parametrize("arrange", [around.failing_hooks, around.no_identity, around.unusual_configuration])
def test_neither_hooks_nor_configuration_break_a_rebase(lab: Lab, arrange: object) -> None:
    lab.write("other.txt", "other\n")
    lab.commit("go on")
    arrange(lab)  # type: ignore[operator]
    (lab.path / "README.md").write_text("one\ntwo\nthree\n")
    done = rebase(found(lab), "main")
    assert isinstance(done, Rebased)
    fast_forward(repository(lab), "main", done.head)
    assert (lab.top / "feature.py").exists()
    assert lab.git("-c", "log.showSignature=false", "log", "-1", "--format=%cn", "main") in ("Tester", "Kumihimo")
    assert (lab.path / "notes/deep/idea.txt").exists()


def test_uncommitted_work_is_named_and_not_rebased_over(lab: Lab) -> None:
    lab.work_commit("feature.py", "feature\n")
    lab.work("README.md", "half done\n")
    lab.write("other.txt", "other\n")
    lab.commit("go on")
    with pytest.raises(ChangesInTheWay, match=r"README\.md.*Commit or stash"):
        rebase(found(lab), "main")


def test_an_untracked_file_is_never_overwritten_by_a_rebase(lab: Lab) -> None:
    head = lab.work_commit("feature.py", "feature\n")
    lab.work("other.txt", "mine\n")
    lab.write("other.txt", "theirs\n")
    lab.commit("go on")
    with pytest.raises(GitError, match=r"other\.txt"):
        rebase(found(lab), "main")
    assert (lab.path / "other.txt").read_text() == "mine\n"
    assert lab.in_worktree("rev-parse", "HEAD") == head


def test_a_rebase_that_is_half_done_is_said(lab: Lab) -> None:
    history.in_a_rebase(lab)
    with pytest.raises(UnfinishedOperation, match="rebase"):
        rebase(found(lab), "main")


def test_a_fast_forward_takes_the_checkout_along(lab: Lab) -> None:
    head = lab.work_commit("feature.py", "feature\n")
    lab.write("notes.txt", "the user's own\n")
    lab.write("docs/guide.md", "the user's own change\n")
    fast_forward(repository(lab), "main", head)
    fast_forward(repository(lab), "main", head)
    assert (lab.git("rev-parse", "main"), (lab.top / "feature.py").read_text()) == (head, "feature\n")
    assert (lab.top / "docs/guide.md").read_text() == "the user's own change\n"


@pytest.mark.parametrize("kind", ["changed", "staged", "untracked"])
def test_a_fast_forward_never_overwrites_what_the_user_has_not_committed(lab: Lab, kind: str) -> None:
    path = "new.txt" if kind == "untracked" else "README.md"
    head = lab.work_commit(path, "work\n")
    main = lab.git("rev-parse", "main")
    lab.write(path, "the user's own\n")
    if kind == "staged":
        lab.git("add", path)
    with pytest.raises(ChangesInTheWay, match=path):
        fast_forward(repository(lab), "main", head)
    assert lab.git("rev-parse", "main") == main
    assert (lab.top / path).read_text() == "the user's own\n"


def test_a_target_that_has_moved_on_is_not_moved_back(lab: Lab) -> None:
    history.conflicting(lab)
    main = lab.git("rev-parse", "main")
    with pytest.raises(NotFastForward, match="Rebase on it"):
        fast_forward(repository(lab), "main", BRANCH)
    assert lab.git("rev-parse", "main") == main


def test_a_target_that_nobody_is_on_is_moved_alone(lab: Lab) -> None:
    lab.git("switch", "-q", "-c", "elsewhere")
    head = lab.work_commit("feature.py", "feature\n")
    fast_forward(repository(lab), "main", head)
    assert lab.git("rev-parse", "main") == head
    assert not (lab.top / "feature.py").exists()


def test_a_target_that_is_deleted_is_not_made_up(lab: Lab) -> None:
    history.target_deleted(lab)
    with pytest.raises(UnknownRevision):
        fast_forward(repository(lab), "main", BRANCH)


def test_a_target_without_a_commit_gets_its_first(lab: Lab) -> None:
    head = lab.work_commit("feature.py", "feature\n")
    lab.git("switch", "-q", "--orphan", "fresh")
    fast_forward(repository(lab), "fresh", head)
    assert lab.git("rev-parse", "fresh") == head
    assert (lab.top / "feature.py").exists()


def test_a_target_that_is_being_rebased_is_left_to_that(lab: Lab) -> None:
    head = lab.work_commit("feature.py", "feature\n")
    lab.git("branch", "side", "main~0")
    lab.git("switch", "-q", "side")
    lab.write("README.md", "side\n")
    lab.commit("side")
    lab.git("switch", "-q", "-c", "other", "main")
    lab.write("README.md", "other\n")
    lab.commit("other")
    lab.git("rebase", "side", fine=(1,))
    with pytest.raises(UnfinishedOperation, match="git status"):
        fast_forward(repository(lab), "other", lab.git("commit-tree", "-p", "other", "-m", "-", f"{head}^{{tree}}"))


def test_a_lock_that_was_left_over_in_the_checkout_is_named(lab: Lab) -> None:
    head = lab.work_commit("feature.py", "feature\n")
    (lab.top / ".git/index.lock").touch()
    with pytest.raises(GitLocked):
        fast_forward(repository(lab), "main", head)


def test_in_a_bare_repository_the_target_is_only_a_ref(tmp_path: Path) -> None:
    origin = Lab.made(tmp_path, "origin")
    lab = Lab(tmp_path)
    lab.git("clone", "-q", "--bare", str(origin.top), str(lab.top), at=tmp_path)
    lab.create()
    head = lab.work_commit("feature.py", "feature\n")
    fast_forward(repository(lab), "main", head)
    assert lab.git("rev-parse", "main") == head


@pytest.mark.parametrize(
    ("arrange", "how"),
    [
        (history.fast_forwarded, "reachable"),
        (history.merged, "reachable"),
        (history.squash_merged, "tree"),
        (history.squash_merged_and_gone_on, "patch"),
        (history.rebase_merged, "patch"),
        (history.target_merged_into_it_then_squashed, "tree"),
        (history.empty_commits, "tree"),
        (history.half_merged, None),
        (history.picked_but_for_what_its_merge_has, None),
        (history.merged_but_for_white_space, None),
        (history.merged_but_for_a_binary, None),
        (history.conflicting, None),
    ],
)
def test_merged_is_said_with_how(lab: Lab, arrange: object, how: str | None) -> None:
    arrange(lab)  # type: ignore[operator]
    assert is_merged(repository(lab), BRANCH, "main") == how


def test_work_that_the_target_has_taken_back_counts_as_arrived_only_by_its_patch(lab: Lab) -> None:
    history.squash_merged(lab)
    lab.git("revert", "--no-edit", "HEAD")
    assert is_merged(repository(lab), BRANCH, "main") == "patch"


def test_the_whole_way_with_two_that_do_not_meet(lab: Lab) -> None:
    lab.worktrees.create("task-2", "task-2-s1", "main", holder="exec_2", scope=Scope())
    lab.work_commit("feature.py", "feature\n")
    lab.write(".kumi/worktrees/task-2/docs/more.md", "more\n")
    lab.commit("docs", lab.folder / "task-2")
    for name in (NAME, "task-2"):
        done = rebase(found(lab, name), "main")
        assert isinstance(done, Rebased)
        fast_forward(repository(lab), "main", done.head)
    assert lab.git("log", "--format=%s").splitlines() == ["docs", "work", "begin"]
    assert [removal.why for removal in lab.worktrees.gc({}, live=lambda _: False)] == ["merged", "merged"]
    assert list(lab.folder.iterdir()) == []
