"""An instance: a process that a Runner started for an agent on a project, as far as the Runner tells us."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.event import Change
from kumihimo.domain.states import StateTable

InstanceState = Literal["starting", "alive", "exited"]
# reported: it said what came of its task. silent: it ended without. blamed: one of those that blocked the task.
InstanceOutcome = Literal["reported", "silent", "blamed"]

STATES = StateTable(
    "instance",
    ("starting", "alive"),
    {
        ("starting", "starting"): "starting",
        ("starting", "alive"): "alive",
        ("starting", "exited"): "exited",
        ("alive", "alive"): "alive",
        ("alive", "exited"): "exited",
    },
)


class Instance(Struct, frozen=True):
    id: str
    agent_id: str
    project_id: str
    state: InstanceState
    working_directory: str | None
    exit_code: int | None
    signal: str | None
    started_at: datetime
    seen_at: datetime
    ended_at: datetime | None = None
    outcome: InstanceOutcome | None = None
    worktree: str | None = None
    """The name of the worktree that it was told to work in."""
    branch: str | None = None

    def see(self, at: datetime, working_directory: str | None = None) -> Change[Instance]:
        """Known to be alive, and where."""
        STATES.next(self.id, self.state, "alive")
        place = working_directory or self.working_directory
        return Change(replace(self, state="alive", seen_at=at, working_directory=place), "instance.alive", at)

    def exit(self, exit_code: int | None, signal: str | None, at: datetime) -> Change[Instance]:
        STATES.next(self.id, self.state, "exited")
        ended = replace(
            self,
            state="exited",
            exit_code=exit_code,
            signal=signal,
            seen_at=at,
            ended_at=at,
            outcome=self.outcome or "silent",
        )
        return Change(ended, "instance.exited", at)

    def judge(self, outcome: InstanceOutcome, at: datetime) -> Change[Instance]:
        return Change(replace(self, outcome=outcome), f"instance.{outcome}", at)
