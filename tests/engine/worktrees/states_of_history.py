"""States of a worktree's commits: where its head is, and what its target knows of them."""

from __future__ import annotations

from tests.engine.worktrees.lab import BRANCH, Lab


def committed(lab: Lab) -> None:
    lab.work_commit("feature.py", "feature\n")


def fast_forwarded(lab: Lab) -> None:
    committed(lab)
    lab.git("merge", "-q", "--ff-only", BRANCH)


def merged(lab: Lab) -> None:
    committed(lab)
    lab.write("other.txt", "other\n")
    lab.commit("other")
    lab.git("merge", "-q", "--no-ff", "-m", "merge", BRANCH)


def squash_merged(lab: Lab) -> None:
    lab.work_commit("feature.py", "feature\n")
    lab.work_commit("feature.py", "feature\nmore\n")
    lab.work_commit("README.md", "one\ntwo, better\nthree\n")
    lab.write("other.txt", "other\n")
    lab.commit("other")
    lab.git("merge", "-q", "--squash", BRANCH)
    lab.commit("squashed")


def squash_merged_and_gone_on(lab: Lab) -> None:
    """The target has changed the same lines since."""
    squash_merged(lab)
    lab.write("feature.py", "quite\nanother\nthing\n")
    lab.commit("go on")


def rebase_merged(lab: Lab) -> None:
    lab.work_commit("feature.py", "feature\n")
    lab.work_commit("README.md", "one\ntwo\nthree\nfour\n")
    lab.write("other.txt", "other\n")
    lab.commit("other")
    lab.git("cherry-pick", f"main..{BRANCH}")
    lab.write("README.md", "something else\n")
    lab.commit("go on")


def target_merged_into_it_then_squashed(lab: Lab) -> None:
    lab.work_commit("feature.py", "feature\n")
    lab.write("other.txt", "other\n")
    lab.commit("other")
    lab.in_worktree("merge", "-q", "-m", "catch up", "main")
    lab.work_commit("feature.py", "feature\nmore\n")
    lab.git("merge", "-q", "--squash", BRANCH)
    lab.commit("squashed")


def picked_but_for_what_its_merge_has(lab: Lab) -> None:
    """A merge that holds a change of its own, which no other commit has."""
    feature = lab.work_commit("feature.py", "feature\n")
    lab.write("other.txt", "other\n")
    lab.commit("other")
    lab.in_worktree("merge", "-q", "--no-commit", "--no-ff", "main")
    lab.work_commit("only-in-the-merge.txt", "own\n", "catch up, and more")
    lab.git("cherry-pick", feature)


def half_merged(lab: Lab) -> None:
    first = lab.work_commit("feature.py", "feature\n")
    lab.work_commit("second.py", "second\n")
    lab.write("other.txt", "other\n")
    lab.commit("other")
    lab.git("cherry-pick", first)


def merged_but_for_white_space(lab: Lab) -> None:
    """In Python this is another program."""
    lab.work_commit("src/app.py", "if True:\n    print(1)\n    print(2)\n")
    lab.write("src/app.py", "if True:\n    print(1)\nprint(2)\n")
    lab.commit("the same but for white space")


def merged_but_for_a_binary(lab: Lab) -> None:
    lab.work_commit("picture.bin", b"\0one\xff")
    lab.write("picture.bin", b"\0two\xff")
    lab.commit("another picture")


def conflicting(lab: Lab) -> None:
    lab.work_commit("README.md", "mine\n")
    lab.write("README.md", "theirs\n")
    lab.commit("theirs")


def empty_commits(lab: Lab) -> None:
    lab.in_worktree("commit", "-q", "--allow-empty", "-m", "nothing")
    lab.in_worktree("commit", "-q", "--allow-empty", "-m", "nothing more")


def detached(lab: Lab) -> None:
    lab.in_worktree("checkout", "-q", "--detach")
    lab.work_commit("floating.txt", "floating\n")


def left_behind(lab: Lab) -> None:
    """Commits that were made on no branch, before going back to one."""
    detached(lab)
    lab.work_commit("floating.txt", "floating more\n")
    lab.in_worktree("checkout", "-q", BRANCH)


def reset_away(lab: Lab) -> None:
    committed(lab)
    lab.in_worktree("reset", "-q", "--hard", "HEAD~1")


def unborn(lab: Lab) -> None:
    lab.in_worktree("switch", "-q", "--orphan", "fresh")
    lab.work("first.txt", "first\n")
    lab.in_worktree("add", "--all")
    lab.work("second.txt", "second\n")


def branch_deleted(lab: Lab) -> None:
    committed(lab)
    lab.work("more.txt", "more\n")
    lab.git("update-ref", "-d", f"refs/heads/{BRANCH}")


def branch_renamed(lab: Lab) -> None:
    committed(lab)
    lab.git("branch", "-m", BRANCH, "renamed")


def on_another_branch(lab: Lab) -> None:
    lab.in_worktree("switch", "-q", "-c", "own-idea")
    committed(lab)


def target_deleted(lab: Lab) -> None:
    committed(lab)
    lab.git("switch", "-q", "-c", "elsewhere")
    lab.git("branch", "-q", "-D", "main")


def target_renamed(lab: Lab) -> None:
    fast_forwarded(lab)
    lab.git("branch", "-m", "main", "trunk")


def stashed(lab: Lab) -> None:
    lab.work("README.md", "stashed\n")
    lab.in_worktree("stash")


def in_a_rebase(lab: Lab) -> None:
    conflicting(lab)
    lab.in_worktree("rebase", "main", fine=(1,))
    lab.work("beside.txt", "beside\n")


def in_a_merge(lab: Lab) -> None:
    conflicting(lab)
    lab.in_worktree("merge", "main", fine=(1,))


def in_a_cherry_pick(lab: Lab) -> None:
    conflicting(lab)
    lab.in_worktree("cherry-pick", "main", fine=(1,))


def in_a_bisect(lab: Lab) -> None:
    committed(lab)
    lab.in_worktree("bisect", "start")
    lab.in_worktree("bisect", "bad")
