"""Evidence: what runs left behind, one row for each run that was looked at."""

from __future__ import annotations

from kumihimo.domain.event import Change
from kumihimo.domain.evidence import ComingConflict, Evidence
from kumihimo.domain.proof import CheckResult, Commit, DiffStat
from kumihimo.store.mapping import TableMapping
from kumihimo.store.repository import Repository


class Evidences(Repository[Evidence]):
    mapping = TableMapping(
        "evidence",
        Evidence,
        times=("updated_at",),
        flags=("checks_skipped",),
        json={
            "commits": tuple[Commit, ...],
            "diffstat": DiffStat,
            "uncommitted": tuple[str, ...],
            "violations": tuple[str, ...],
            "checks": tuple[CheckResult, ...],
            "conflicts": tuple[ComingConflict, ...],
            "left_by_checks": tuple[str, ...],
        },
    )

    def put(self, change: Change[Evidence]) -> None:
        """The first of a run, or in the place of what was known."""
        if self.get(change.value.id) is not None or not self.add(change):
            self.save(change)
