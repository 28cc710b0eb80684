"""The judge of a trial: holds the board against its log and against what agents left behind outside of it."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from kumihimo.domain.event import Event
from kumihimo.domain.execution import Execution
from kumihimo.services.groups import Plan
from kumihimo.testing import scripts

from .machine import Machine
from .workload import Workload

_ENDS = ("completed", "failed", "timed_out", "cancelled", "lost")


class Judge:
    def __init__(self, work: Workload, machines: Sequence[Machine]) -> None:
        self._work = work
        self._machines = machines
        self.runs: dict[str, Execution] = {run.id: run for run in work.executions()}
        events = work.events()
        self._events: dict[str, list[tuple[int, Event]]] = defaultdict(list)
        for number, event in enumerate(events):
            self._events[event.subject].append((number, event))
        self._traces = _traces(work)
        self.outcomes = Counter(run.status for run in self.runs.values())

    def require_one_outcome_each(self) -> None:
        """Whatever is told of a run after its end is kept beside it."""
        for run in self.runs.values():
            ends = [kind for kind in self._kinds(run.id) if kind in _ENDS]
            assert ends == [run.status], f"{run.id} is {run.status}, and ended as {ends}"
            returned = self._kinds(run.id).count("returned")
            assert returned == (run.returned is not None), f"{run.id} came back {returned} times"
            assert run.returned is None or run.status == "lost", run.id
            assert run.owner is None, f"{run.id} is over and belongs to {run.owner}"

    def require_no_second_start(self) -> None:
        """By what the agents themselves left behind: a claim has one agent or none."""
        for run in self.runs.values():
            starts = len(self._traces["start"][run.id])
            assert starts <= run.fence, f"{run.id} was claimed {run.fence} times and started {starts} times"
            assert self._kinds(run.id).count("claimed") == run.fence, run.id
            if run.status == "completed" or (run.status == "failed" and run.failure_reason == "exited"):
                assert starts == 1, f"{run.id} is {run.status}, and its agent started {starts} times"

    def require_true_ends(self) -> None:
        """What is said to have ended by itself did so, with its own code."""
        for run in self.runs.values():
            code = self._work.orders[run.id].code
            if run.status == "completed":
                assert code == 0, f"{run.id} ended with {code}"
                assert len(self._traces["end"][run.id]) == 1, f"{run.id} never came to its end"
            elif run.status == "failed":
                assert (run.failure_reason, run.exit_code) == ("exited", code), f"{run.id}: {run.error}"

    def require_stages_in_order(self) -> None:
        for plan in self._work.plans:
            self._require_plan(plan)

    def _require_plan(self, plan: Plan) -> None:
        advanced = self._kinds(plan.group.id).count("stage_advanced")
        gave_up = False
        for number, stage in enumerate(plan.stages):
            runs = [self.runs[run.id] for run in stage]
            reached = [self._numbers(run.id, "reached") for run in runs]
            if number == 0:
                assert reached == [[]] * len(runs), plan.group.id
                continue
            before = [self.runs[run.id] for run in plan.stages[number - 1]]
            if gave_up or (plan.group.on_failure == "stop" and not all(run.status == "completed" for run in before)):
                gave_up = True
                assert reached == [[]] * len(runs), f"{plan.group.id} was given up, and stage {number} was begun"
                assert {run.status for run in runs} == {"cancelled"}, plan.group.id
                continue
            self._require_begun_once(plan, number, runs, before)
        if not gave_up:
            assert advanced == len(plan.stages) - 1, f"{plan.group.id}: {advanced} of {len(plan.stages)} stages"

    def _require_begun_once(self, plan: Plan, number: int, runs: list[Execution], before: list[Execution]) -> None:
        over = max(self._numbers(run.id, run.status)[0] for run in before)
        began_at = max(_seconds(run) for run in before)
        for run in runs:
            # What was cancelled while it waited for its stage is never reached.
            reached = self._numbers(run.id, "reached")
            assert len(reached) == 1 or (not reached and run.status == "cancelled"), f"{run.id} of {plan.group.id}"
            assert not reached or reached[0] > over, (
                f"{run.id} of stage {number} was begun before the one before was over"
            )
            for moment in self._traces["start"][run.id]:
                assert moment >= began_at - 0.5, f"{run.id} of stage {number} started before the one before was over"

    def require_every_line_once(self) -> None:
        """Every line that was delivered, in its order; all of them where the agent came to its end under our eyes."""
        for run in self.runs.values():
            lines = self._lines(run.id)
            whole = [f"line {n} of {run.id}" for n in range(1, self._work.orders[run.id].lines + 1)]
            assert lines == whole[: len(lines)], f"{run.id}: {lines}"
            seen = self._work.board.executions.sight(run.id).seen
            assert seen.lines == len(lines), f"{run.id}: {seen.lines} lines were counted, {len(lines)} are there"
            if run.status in ("completed", "failed") or (run.returned and run.returned.signal is None):
                assert len(lines) == len(whole), f"{run.id}: {len(lines)} of {len(whole)} lines"

    def require_doors_tell_the_same(self, chance: random.Random, samples: int) -> None:
        """The command of a run's own host prints what the board has."""
        begun = sorted(run.id for run in self.runs.values() if run.host_id is not None)
        for run in chance.sample(begun, min(samples, len(begun))):
            assert self._home_of(self.runs[run]).read_log(run) == self._lines(run), run

    def require_tasks_done_once(self) -> None:
        """Of what Runners did: every instance ended once, and every task is done, once, or waits for a person."""
        known = self._work.board.store.read(
            lambda transaction: transaction.tasks.by_ids([task.id for task in self._work.tasks])
        )
        assert len(known) == len(self._work.tasks)
        starts = Counter(
            record["environment"].get("KUMI_RUN") for record in scripts.records(self._work.agents_log, "start")
        )
        for instance in self._work.instances():
            kinds = self._kinds(instance.id)
            assert (kinds.count("started"), kinds.count("exited")) == (1, 1), f"{instance.id}: {kinds}"
            assert starts[instance.id] <= 1, f"{instance.id} was started {starts[instance.id]} times"
        assert set(starts) <= {instance.id for instance in self._work.instances()}
        for task in known.values():
            assert task.status in ("done", "blocked"), f"task {task.number} is {task.status}"
            states = [msgspec.json.decode(event.data)["status"] for _, event in self._events[task.id]]
            became = sum(before != after == "done" for before, after in pairwise(states))
            assert became == (task.status == "done"), f"task {task.number} was done {became} times: {states}"

    def _kinds(self, subject: str) -> list[str]:
        return [event.kind.partition(".")[2] for _, event in self._events[subject]]

    def _numbers(self, subject: str, kind: str) -> list[int]:
        """Where in the log this was told."""
        return [number for number, event in self._events[subject] if event.kind.partition(".")[2] == kind]

    def _lines(self, run: str) -> list[str]:
        found: list[str] = []
        cursor: str | None = None
        while True:
            output = self._work.board.outputs.read(run, cursor, 7)
            found += output.lines
            if output.done:
                return found
            assert output.next_cursor != cursor, f"{run} is over, and what it printed has no end"
            cursor = output.next_cursor

    def _home_of(self, run: Execution) -> Machine:
        return next(one for one in self._machines if one.host_id == run.host_id)


def expected_back(work: Workload, machines: Sequence[Machine]) -> list[str]:
    """Runs that were given up and whose agents ended in peace, or will: their hosts have still to tell how."""
    homes = {machine.host_id: machine for machine in machines}
    found: list[str] = []
    for run in work.executions():
        if run.status == "lost" and run.returned is None and run.host_id is not None:
            folder = homes[run.host_id].run_folder(run.id)
            if folder.ended() is not None or not folder.is_over():
                found.append(f"{run.id} lost, and known at {run.host_id}")
    return found


def _traces(work: Workload) -> dict[str, dict[str, list[float]]]:
    """When the agent of each run started and ended, by its own word."""
    found: dict[str, dict[str, list[float]]] = {"start": defaultdict(list), "end": defaultdict(list)}
    for line in work.trace.read_text().splitlines():
        kind, run, _, moment = line.split()
        found[kind][run].append(float(moment))
    return found


def _seconds(run: Execution) -> float:
    assert run.ended_at is not None, run.id
    return run.ended_at.timestamp()
