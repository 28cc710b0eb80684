"""Upkeep of the board."""

from __future__ import annotations

from datetime import datetime

from kumihimo.domain.finding import Finding
from kumihimo.operations.instances import RunnerToken
from kumihimo.services.upkeep import Condition, Copied, Migration, Overview
from kumihimo.toolsets.camel.answer import Answer


class FindingAnswer(Answer, frozen=True):
    name: str
    status: str
    detail: str
    mended: bool = False


class FindingsAnswer(Answer, frozen=True):
    checks: list[FindingAnswer]


class MigrationAnswer(Answer, frozen=True):
    database: str
    version: int
    applied: list[int]


class ConditionAnswer(Answer, frozen=True):
    database: str
    ok: bool
    problems: list[str]


class CopiedAnswer(Answer, frozen=True):
    source: str
    target: str
    rows: int


class RunnerTokenAnswer(Answer, frozen=True):
    token: str


class OverviewAnswer(Answer, frozen=True):
    version: str
    database: str
    projects: int
    agents: int
    tasks: dict[str, int]
    live_sessions: int
    live_runs: int
    runs: dict[str, int]
    slots: int
    parked: dict[str, datetime]
    hosts: dict[str, int]
    pid: int | None
    url: str | None
    token_file: str


def finding(it: Finding) -> FindingAnswer:
    return FindingAnswer(name=it.name, status=it.verdict, detail=it.detail, mended=it.mended)


def migration(it: Migration) -> MigrationAnswer:
    return MigrationAnswer(database=it.database, version=it.version, applied=it.applied)


def condition(it: Condition) -> ConditionAnswer:
    return ConditionAnswer(database=it.database, ok=not it.problems, problems=it.problems)


def copied(it: Copied) -> CopiedAnswer:
    return CopiedAnswer(source=it.source, target=it.target, rows=it.rows)


def overview(it: Overview) -> OverviewAnswer:
    return OverviewAnswer(
        version=it.version,
        database=it.database,
        projects=it.projects,
        agents=it.agents,
        tasks=it.tasks,
        live_sessions=it.live_sessions,
        live_runs=it.live_runs,
        runs=it.runs,
        slots=it.slots,
        parked=it.parked,
        hosts=it.hosts,
        pid=it.pid,
        url=it.url,
        token_file=it.token_file,
    )


def runner_token(it: RunnerToken) -> RunnerTokenAnswer:
    return RunnerTokenAnswer(token=it.token)
