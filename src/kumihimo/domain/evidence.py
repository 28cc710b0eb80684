"""Evidence: what a run left behind, as far as it was looked at. Facts of git and of checks, never anybody's word."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.event import Change
from kumihimo.domain.proof import CheckResult, Commit, DiffStat

# How the work came to be part of its target: its commits, the same changes in other commits, or the same files.
MergedBy = Literal["reachable", "patch", "tree"]


class ComingConflict(Struct, frozen=True):
    """Another run that changes the same places, seen before either of them has ended."""

    run: str
    files: tuple[str, ...]


class Evidence(Struct, frozen=True):
    """`id` is that of the run."""

    id: str
    base: str | None
    head: str | None
    updated_at: datetime
    commits: tuple[Commit, ...] = ()
    diffstat: DiffStat = DiffStat()
    uncommitted: tuple[str, ...] = ()
    violations: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    checks_skipped: bool = False
    conflicts: tuple[ComingConflict, ...] = ()
    merged: MergedBy | None = None
    left_by_checks: tuple[str, ...] = ()
    """Files that were not there before its checks ran: nobody's work, and in nobody's way."""
    unpushed: str | None = None
    """Why its branch is on its host alone, where other hosts were to find it on the remote of the project."""

    @property
    def passed(self) -> bool:
        """Nothing speaks against it."""
        return not self.violations and all(check.passed for check in self.checks)

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if not check.passed)

    def foresee(self, conflicts: tuple[ComingConflict, ...], at: datetime) -> Change[Evidence]:
        """What would conflict if both were merged as they are now."""
        return Change(replace(self, conflicts=conflicts, updated_at=at), "evidence.foreseen", at)

    def renew(self, at: datetime, **facts: object) -> Change[Evidence]:
        return Change(replace(self, **facts, updated_at=at), "evidence.renewed", at)
