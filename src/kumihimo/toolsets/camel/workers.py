"""Workers, and what becomes of their work."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from kumihimo.domain.proof import CheckResult, Proof
from kumihimo.operations.workers import Commanded, WorkerWaited
from kumihimo.services.merge_result import MergeResult
from kumihimo.toolsets.camel.answer import Answer
from kumihimo.toolsets.camel.sessions import SessionAnswer, work_session


class CommandedTask(Answer, frozen=True):
    id: int
    title: str
    branch: str | None


class CommandAnswer(Answer, frozen=True):
    command: str
    client: str
    worktree: str | None
    session_id: int | None
    agent: str
    task: CommandedTask


class WaitedWorker(SessionAnswer, frozen=True):
    task_reason: str | None
    timed_out: bool


class CheckAnswer(Answer, frozen=True):
    command: str
    status: str
    exit_code: int | None
    signal: str | None
    duration_ms: int
    output: str


class MergeAnswer(Answer, frozen=True):
    task: int | None
    run: str
    status: str
    task_status: str | None
    target: str | None
    commit: str | None
    files: list[str]
    checks: list[CheckAnswer]
    reason: str | None
    worktree: str | UnsetType = UNSET


class MergesAnswer(Answer, frozen=True):
    merges: list[MergeAnswer]


class PathAnswer(Answer, frozen=True):
    path: str
    status: str
    insertions: int
    deletions: int


class DiffStatAnswer(Answer, frozen=True):
    files: int
    insertions: int
    deletions: int
    paths: list[PathAnswer]


class CommitAnswer(Answer, frozen=True):
    sha: str
    subject: str


class ProofAnswer(Answer, frozen=True):
    run: str
    task: str | None
    agent: str | None
    client: str
    model: str | None
    prompt_sha256: str
    base: str | None
    head: str | None
    commits: list[CommitAnswer]
    diffstat: DiffStatAnswer
    scope_violations: list[str]
    checks: list[CheckAnswer]
    checks_skipped: bool
    exit_code: int | None
    signal: str | None
    status: str
    failure_reason: str | None
    usage: dict[str, Any]
    report: dict[str, Any] | None
    started_at: datetime | None
    ended_at: datetime | None
    made_at: datetime
    version: str


def commanded(it: Commanded) -> CommandAnswer:
    run, task = it.worker.execution, it.worker.task
    return CommandAnswer(
        command=it.command,
        client=run.client,
        worktree=run.worktree,
        session_id=run.number,
        agent=it.worker.agent.name,
        task=CommandedTask(id=task.number, title=task.title, branch=run.branch),
    )


def waited(it: WorkerWaited) -> WaitedWorker:
    known = msgspec.structs.asdict(work_session(it.session))
    return WaitedWorker(**known, task_reason=it.session.task.status_reason, timed_out=it.timed_out)


def merge(it: MergeResult) -> MergeAnswer:
    task = it.candidate.task
    return MergeAnswer(
        task=task.number if task else None,
        run=it.candidate.run.id,
        status=it.status,
        task_status=task.status if task else None,
        target=it.target,
        commit=it.commit,
        files=list(it.files),
        checks=[check(result) for result in it.evidence.checks] if it.evidence else [],
        reason=it.reason,
        worktree=it.removal.sentence if it.removal else UNSET,
    )


def check(it: CheckResult) -> CheckAnswer:
    return CheckAnswer(
        command=it.command,
        status=it.status,
        exit_code=it.exit_code,
        signal=it.signal,
        duration_ms=it.duration_ms,
        output=it.output,
    )


def proof(it: Proof) -> ProofAnswer:
    stat = it.diffstat
    paths = [
        PathAnswer(path=path.path, status=path.status, insertions=path.insertions, deletions=path.deletions)
        for path in stat.paths
    ]
    return ProofAnswer(
        **{
            name: getattr(it, name)
            for name in (
                "run", "task", "agent", "client", "model", "prompt_sha256", "base", "head", "checks_skipped", "exit_code",
                "signal", "status", "failure_reason", "started_at", "ended_at", "made_at", "version",
            )
        },
        commits=[CommitAnswer(sha=commit.sha, subject=commit.subject) for commit in it.commits],
        diffstat=DiffStatAnswer(files=stat.files, insertions=stat.insertions, deletions=stat.deletions, paths=paths),
        scope_violations=list(it.scope_violations),
        checks=[check(result) for result in it.checks],
        usage=msgspec.to_builtins(it.usage),
        report=None if it.report is None else msgspec.to_builtins(it.report),
    )  # fmt: skip
