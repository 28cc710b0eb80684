"""A proof: what is known of one run when it is over. It is evidence, kept beside what the agent says of itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.execution import ExecutionStatus, FailureReason, Report
from kumihimo.domain.observation import Usage

# A check that was not run is not passed: it was stopped, the time was up before its turn, or it could not be started.
CheckStatus = Literal["passed", "failed", "timed_out", "not_run"]
PathStatus = Literal["added", "modified", "deleted", "renamed", "copied", "type_changed"]


class CheckResult(Struct, frozen=True):
    """What came of one command of the definition of done. `exit_code` is 128 and the signal where one killed it."""

    command: str
    status: CheckStatus
    exit_code: int | None = None
    signal: str | None = None
    duration_ms: int = 0
    output: str = ""
    """The end of what it wrote, to both of its outputs; for one that could not be started, why."""
    started_at: datetime | None = None

    @property
    def passed(self) -> bool:
        return self.status == "passed"


class Commit(Struct, frozen=True):
    sha: str
    subject: str = ""


class PathChange(Struct, frozen=True):
    """One file of a diff. Lines of a binary file are not counted."""

    path: str
    status: PathStatus
    insertions: int = 0
    deletions: int = 0


class DiffStat(Struct, frozen=True):
    files: int = 0
    insertions: int = 0
    deletions: int = 0
    paths: tuple[PathChange, ...] = ()

    @classmethod
    def of(cls, paths: tuple[PathChange, ...]) -> DiffStat:
        """With the sums that follow from the paths."""
        inserted, deleted = sum(path.insertions for path in paths), sum(path.deletions for path in paths)
        return cls(len(paths), inserted, deleted, paths)


class Proof(Struct, frozen=True, kw_only=True):
    """`base` and `head` are None where there is no repository; `version` is that of the Kumihimo that made it."""

    run: str
    task: str | None = None
    agent: str | None = None
    client: str
    model: str | None = None
    prompt_sha256: str
    base: str | None = None
    head: str | None = None
    commits: tuple[Commit, ...] = ()
    diffstat: DiffStat = DiffStat()
    scope_violations: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    checks_skipped: bool = False
    exit_code: int | None = None
    signal: str | None = None
    status: ExecutionStatus
    failure_reason: FailureReason | None = None
    usage: Usage = Usage()
    report: Report | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    made_at: datetime
    version: str

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        return tuple(check for check in self.checks if not check.passed)

    def masked(self, mask: Callable[[str], str]) -> Proof:
        """The same without secrets, in whatever people, programs or agents have written freely."""
        return replace(
            self,
            commits=tuple(replace(commit, subject=mask(commit.subject)) for commit in self.commits),
            checks=tuple(
                replace(check, command=mask(check.command), output=mask(check.output)) for check in self.checks
            ),
            report=None if self.report is None else _masked_report(self.report, mask),
        )


def _masked_report(report: Report, mask: Callable[[str], str]) -> Report:
    return replace(
        report,
        summary=mask(report.summary),
        edited_files=tuple(map(mask, report.edited_files)),
        created_files=tuple(map(mask, report.created_files)),
        error_message=None if report.error_message is None else mask(report.error_message),
        response=None if report.response is None else mask(report.response),
    )
