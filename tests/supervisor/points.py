"""Named points at which a supervisor is killed. A point with several kills takes one supervisor after the other."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

_SUPERVISOR = "kumihimo.supervisor.supervisor:Supervisor"
_STARTER = "kumihimo.supervisor.starter:Starter"
_LAUNCHER = "kumihimo.supervisor.launcher:Launcher"
_LAY_OUT = "kumihimo.supervisor.launcher:lay_out"
_NURSERY = "kumihimo.engine.processes.nursery:Nursery"
_RUNS = "kumihimo.services.executions:Executions"
_STOPPING = "kumihimo.supervisor.stopping"
_FINISHER = "kumihimo.supervisor.finishing:Finisher"

Kill = dict[str, Any]


class Point(Struct, frozen=True):
    """`stays_away`: the next supervisor comes only when every agent that was started has ended."""

    name: str
    kills: list[Kill]
    stays_away: bool = False


def _before(at: str, passing: int = 1, **more: Any) -> Kill:
    return {"at": at, "when": "before", "passing": passing, **more}


def _after(at: str, passing: int = 1, **more: Any) -> Kill:
    return {"at": at, "when": "after", "passing": passing, **more}


_STARTED = _before(f"{_SUPERVISOR}._finish", since=f"{_RUNS}.start")
_HALF_TOLD = {"at": "kumihimo.engine.processes.nursery:Shell.tell", "when": "half", "passing": 7}

# While agents are started, followed and ended.
RUNNING = [
    Point("before anything is claimed", [_before(f"{_RUNS}.claim_some")]),
    Point("claimed, and not committed", [_after(f"{_RUNS}.claim_some")]),
    Point("tokens given, and not committed", [_after("kumihimo.services.tokens:Tokens.issue_all")]),
    Point("the claim is committed", [_before(f"{_STARTER}._launch")]),
    Point("before the folder is prepared", [_before(_LAY_OUT, 3)]),
    Point("the folder is prepared", [_after(_LAY_OUT, 3)], stays_away=True),
    Point("before the shell is told", [_before(f"{_NURSERY}.launch", 5)]),
    Point("the shell is told half of it", [_HALF_TOLD]),
    Point("the shell is told", [_after(f"{_NURSERY}.launch", 5)]),
    Point("the last shell is told", [_after(f"{_NURSERY}.launch", 20)], stays_away=True),
    Point("started, and not committed", [_after(f"{_RUNS}.start", 11)], stays_away=True),
    Point("the start is committed", [_STARTED]),
    Point("the start is committed, and away for long", [_STARTED], stays_away=True),
    Point("while streams are read", [_after("kumihimo.engine.processes.capture:Capture._take", 15)]),
    Point("observed, and not committed", [_after("kumihimo.store.observations:Observations.save_all", 15)]),
    Point("an observation is committed", [_after(f"{_RUNS}.observe", 3)]),
    Point("before the first end", [_before(f"{_FINISHER}.finish")], stays_away=True),
    Point("an end, not committed", [_after("kumihimo.services.stages:settle", 4)]),
    Point("ends are known, and not written", [_after(f"{_FINISHER}._ending", 6)]),
    Point("an end is committed", [_after(f"{_FINISHER}.finish")]),
    Point("the last end is committed", [_after(f"{_SUPERVISOR}._forget", 20)]),
    Point("while the next one takes over", [_STARTED, _after(f"{_LAUNCHER}.take_over", 7)]),
    Point("before the next one takes over", [_STARTED, _before(f"{_SUPERVISOR}._take_over")], stays_away=True),
    Point("while shells are told, twice", [_HALF_TOLD, _HALF_TOLD]),
    Point("at the end, twice", [_after(f"{_FINISHER}._ending", 3), _after(f"{_FINISHER}._ending", 3)]),
]

# While agents are stopped.
STOPPING = [
    Point("before anything is stopped", [_before(f"{_STOPPING}:begin")]),
    Point("the wrapper is held", [_after(f"{_STOPPING}:_hold", 3)]),
    Point("they were told to end", [_after(f"{_STOPPING}:_look", 4)]),
    Point("before the wrapper goes on", [_before("kumihimo.engine.processes.tree:send", saying="SIGCONT")]),
    Point("the wrapper goes on", [_after("kumihimo.engine.processes.tree:send", 2, saying="SIGCONT")], stays_away=True),
    Point("the cancelling, not committed", [_after(f"{_RUNS}.cancel", 3)]),
    Point("held, and then told to end, twice", [_after(f"{_STOPPING}:_hold", 5), _after(f"{_STOPPING}:_look", 5)]),
]
