"""Two at once: one gets it, the other is told who has."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import WorktreeHeld
from kumihimo.engine.worktrees.repository import Repository
from tests.engine.worktrees.lab import BRANCH, NAME, Lab, nobody

PROGRAM = """
import sys
from pathlib import Path
from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import WorktreeHeld
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.worktrees import Worktrees

top, verb, name, holder = sys.argv[1:]
worktrees = Worktrees(Repository.open(Path(top)), Path(top) / ".kumi" / "worktrees")
print("ready", flush=True)
sys.stdin.readline()
try:
    if verb == "create":
        worktrees.create(name, f"{name}-s1", "main", holder=holder, scope=Scope(exclude=("docs",)))
    else:
        worktrees.hold(name, holder)
    print("has it")
except WorktreeHeld as error:
    print("held by", error.facts["holder"])
"""


def at_once(lab: Lab, calls: list[tuple[str, str, str]]) -> list[str]:
    """Real processes, told to start in one moment."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(lab.top), *call],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for call in calls
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120) for process in started]
    assert [error for _, error in said if error] == []
    return [out.strip() for out, _ in said]


@pytest.mark.parametrize("verb", ["create", "hold"])
def test_of_processes_that_want_one_worktree_exactly_one_has_it(lab: Lab, verb: str) -> None:
    said = at_once(lab, [(verb, NAME, f"exec_{number}") for number in range(4)])
    holder = lab.worktrees.holder(NAME)
    assert said.count("has it") == 1
    assert said.count(f"held by {holder}") == 3
    assert said[int(str(holder).removeprefix("exec_"))] == "has it"


def test_processes_that_want_different_worktrees_all_have_theirs(bench: Lab) -> None:
    said = at_once(bench, [("create", f"task-{number}", f"exec_{number}") for number in range(4)])
    assert said == ["has it"] * 4
    assert [worktree.branch for worktree in bench.worktrees.all()] == [f"task-{number}-s1" for number in range(4)]
    assert (bench.top / ".git/info/exclude").read_text().count(".kumi/") == 1


def test_a_dead_holder_is_relieved_by_exactly_one(lab: Lab) -> None:
    lab.worktrees.hold(NAME, "dead")
    barrier = Barrier(6)

    def take(number: int) -> str:
        worktrees = lab.worktrees
        barrier.wait(60)
        try:
            worktrees.hold(NAME, f"exec_{number}", live=lambda holder: holder != "dead")
        except WorktreeHeld:
            return "refused"
        return f"exec_{number}"

    with ThreadPoolExecutor(6) as threads:
        said = list(threads.map(take, range(6)))
    assert said.count("refused") == 5
    assert lab.worktrees.holder(NAME) in said


def test_removal_and_taking_up_never_meet(lab: Lab) -> None:
    """Whoever comes first: it is held and kept, or removed with all that was in it saved."""
    for number in range(6):
        lab.create()
        lab.work("notes.txt", f"{number}\n")
        barrier = Barrier(2)

        def take(number: int = number, barrier: Barrier = barrier) -> None:
            worktrees = lab.worktrees
            barrier.wait(60)
            worktrees.create(NAME, BRANCH, "main", holder=f"live_{number}", scope=Scope())

        with ThreadPoolExecutor(1) as thread:
            taking = thread.submit(take)
            worktrees = lab.worktrees
            barrier.wait(60)
            removal = worktrees.remove(NAME, "main", live=lambda holder: holder.startswith("live"))
            taking.result()
        assert lab.worktrees.holder(NAME) == f"live_{number}"
        assert lab.path.is_dir()
        if removal.removed:
            assert removal.snapshot is not None
            assert lab.git("cat-file", "-p", f"{removal.snapshot}:files/000000") == str(number)
        else:
            assert removal.why in ("held", "changed_meanwhile")
            assert (lab.path / "notes.txt").read_text() == f"{number}\n"
        lab.worktrees.release(NAME, f"live_{number}")


def test_a_release_by_somebody_else_does_nothing(lab: Lab) -> None:
    lab.worktrees.hold(NAME, "exec_1")
    lab.worktrees.release(NAME, "exec_2")
    assert lab.worktrees.holder(NAME) == "exec_1"
    lab.worktrees.hold(NAME, "exec_1")
    lab.worktrees.release(NAME, "exec_1")
    assert lab.worktrees.holder(NAME) is None
    assert "locked" not in lab.git("worktree", "list", "--porcelain")


def test_a_held_worktree_is_left_alone_by_git_itself(lab: Lab) -> None:
    lab.worktrees.hold(NAME, "exec_1")
    lab.git("worktree", "remove", str(lab.path), fine=(128,))
    lab.path.rename(lab.root / "away")
    lab.git("worktree", "prune", "--expire=now")
    (lab.root / "away").rename(lab.path)
    assert lab.in_worktree("status", "--porcelain") == ""


def test_the_exclude_file_takes_each_pattern_once_whoever_writes(bench: Lab) -> None:
    repository = Repository.open(bench.top)
    patterns = [f"pattern-{number % 5}" for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(repository.exclude, patterns))
    lines = (bench.top / ".git/info/exclude").read_text().splitlines()
    assert sorted(line for line in lines if line.startswith("pattern")) == [f"pattern-{number}" for number in range(5)]


def test_two_that_collect_at_once_remove_each_worktree_once(lab: Lab) -> None:
    for number in range(2, 5):
        lab.worktrees.create(f"task-{number}", f"task-{number}-s1", "main", holder="exec_1", scope=Scope())
    barrier = Barrier(2)

    def collect(_: int) -> list[tuple[str, str]]:
        worktrees = lab.worktrees
        barrier.wait(60)
        return [(removal.name, removal.why) for removal in worktrees.gc({}, live=nobody)]

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(collect, range(2))
    assert sorted([*one, *other]) == [(f"task-{number}", "merged") for number in range(1, 5)]
    assert list(lab.folder.iterdir()) == []
