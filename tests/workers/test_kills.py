"""`kill -9` in the middle: what was begun is finished by whoever comes next, and nothing is decided twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.lead.shop import BOUND_SECONDS, until
from tests.workers.conftest import OpenWorkshop
from tests.workers.workshop import Workshop

ROOT = Path(__file__).parents[2]
_DOOMED = """
import sys
from tests.supervisor.doomed import Doom
Doom(sys.argv.pop(1), sys.argv.pop(1))
from kumihimo.surfaces.cli.entry import main
main()
"""


def doomed(workshop: Workshop, at: str, when: str, *words: str) -> int:
    """`kumi` with these words, in a process that dies at this point; how it ended."""
    done = subprocess.run(
        [sys.executable, "-c", _DOOMED, at, when, *words], cwd=workshop.folder, check=False, capture_output=True,
        env={**workshop.environment, "PYTHONPATH": str(ROOT)}, timeout=BOUND_SECONDS,
    )  # fmt: skip
    print(done.stderr.decode("utf-8", "replace"))
    return done.returncode


def events(workshop: Workshop, kind: str, subject: str) -> list[dict[str, Any]]:
    """What became of a thing with each event of a kind."""
    found = workshop.board.store.events_after(None, 10_000)
    return [msgspec.json.decode(event.data) for event in found if (event.kind, event.subject) == (kind, subject)]


def moves(workshop: Workshop, number: int) -> list[str]:
    return [task["status"] for task in events(workshop, "task.moved", workshop.see(number).id)]


@pytest.mark.parametrize("worktree", [True, False], ids=["worktree", "folder"])
def test_a_host_that_is_killed_in_the_middle_of_a_check_comes_to_it_when_it_is_back_and_decides_once(
    open_workshop: OpenWorkshop, worktree: bool
) -> None:
    opened = open_workshop()
    gate, trace = opened.gate(), opened.gate()
    dod = [f"echo ran >> {trace}; while [ ! -e {gate} ]; do sleep 0.05; done"]
    number = opened.task(opened.writes("a"), dod=dod)
    run = opened.worker(number, worktree=worktree)
    until(trace.exists)
    opened.kill_host()
    found = opened.show(run)
    assert (found.status, found.unverified, opened.see(number).status) == ("completed", True, "in_progress")
    opened.up()
    until(lambda: trace.read_text().count("ran") == 2)
    gate.touch()
    assert opened.over(run).dod_result == "pending"
    assert opened.see(number).status == ("in_progress" if worktree else "done")
    assert [check.status for check in opened.proof(run).checks] == ["passed"]
    assert len(events(opened, "execution.verified", run.id)) == 1
    assert moves(opened, number) == (["in_progress"] if worktree else ["in_progress", "done"])
    # The agent itself was not asked again.
    assert len(opened.records("start")) == 1


@pytest.mark.parametrize(
    ("at", "when"),
    [
        ("kumihimo.services.merging:fast_forward", "before"),
        ("kumihimo.services.evidences:Evidences.merged", "before"),
        ("kumihimo.services.evidences:Evidences.merged", "after"),
    ],
    ids=["rebased", "forwarded", "noted"],
)
def test_a_merge_that_is_killed_on_its_way_is_finished_by_the_next_and_merges_once(
    workshop: Workshop, at: str, when: str, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    number = workshop.task(workshop.writes(f"{name}/a"), write=[f"{name}/**"], dod=["true"])
    run = workshop.work(number)
    workshop.commit(f"meanwhile/{name}", "by hand\n")
    assert doomed(workshop, at, when, "merge", str(number)) == -signal.SIGKILL
    (merged,) = workshop.kumi("merge", str(number))["merges"]
    assert (merged["status"], merged["taskStatus"]) == ("merged", "done")
    assert workshop.git("rev-list", "--count", "main", "--", f"{name}/a") == "1"
    assert workshop.show(run).dod_result == "merged"
    assert moves(workshop, number) == ["in_progress", "done"]
    # Nobody holds its place any more.
    assert workshop.kumi("worker", "done", str(number))["status"] == "merged"
    assert f"task-{number}" not in workshop.worktree_names()


@pytest.mark.parametrize("at", ["kumihimo.services.workplaces:make", "kumihimo.services.workers:Workers.ready"])
def test_a_worker_whose_place_was_being_made_by_somebody_who_died_is_gone_on_with(workshop: Workshop, at: str) -> None:
    number = workshop.task(workshop.writes(f"place/{at[-5:]}"))
    assert doomed(workshop, at, "before", "worker", "run", str(number), "--detach") == -signal.SIGKILL
    left = workshop.board.work_sessions.latest(workshop.place, number).execution
    assert left.status == "planned"
    run = workshop.work(number)
    assert (run.id, run.status) == (left.id, "completed")
    assert workshop.merge(number)[0].status == "merged"
