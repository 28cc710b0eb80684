"""What is to be merged, and what became of it."""

from __future__ import annotations

from typing import Literal

import msgspec

from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.evidence import Evidence
from kumihimo.domain.execution import Execution
from kumihimo.domain.project import Project
from kumihimo.domain.task import Task
from kumihimo.engine.worktrees.removal import Removal
from kumihimo.services.evidences import listed, objection

MergeStatus = Literal["merged", "conflict", "checks_failed", "out_of_scope", "refused"]


class Candidate(msgspec.Struct, frozen=True):
    """A run whose work may be merged."""

    run: Execution
    project: Project
    task: Task | None

    @property
    def name(self) -> str | int:
        return self.task.number if self.task else self.run.id


class MergeResult(msgspec.Struct, frozen=True):
    """What became of one merge. `error` is why it was refused; the files are those in conflict or out of scope."""

    candidate: Candidate
    status: MergeStatus
    target: str | None = None
    commit: str | None = None
    files: tuple[str, ...] = ()
    evidence: Evidence | None = None
    error: KumihimoError | None = None
    removal: Removal | None = None

    @property
    def reason(self) -> str | None:
        if self.error is not None:
            return str(self.error)
        if self.status == "conflict":
            return f"conflicts with {self.target} in: {listed(self.files)}"
        return objection(self.evidence) if self.evidence and self.status != "merged" else None
