"""The whole examination, in the order of what depends on what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kumihimo.domain.finding import Finding
from kumihimo.domain.project import Project
from kumihimo.services.board import Board
from kumihimo.services.diagnosis.clients import look_at_clients
from kumihimo.services.diagnosis.database import look_at_database, look_at_events
from kumihimo.services.diagnosis.examination import Examination
from kumihimo.services.diagnosis.git import look_at_git, look_at_identity
from kumihimo.services.diagnosis.host_process import look_at_host
from kumihimo.services.diagnosis.machine import look_at_machine
from kumihimo.services.diagnosis.notifications import look_at_notifications
from kumihimo.services.diagnosis.projects import look_at_projects, look_at_worktrees
from kumihimo.services.diagnosis.runs import look_at_orphans, look_at_runs, look_at_waiting
from kumihimo.settings import Settings

_WEIGHTS = {"error": 0, "warning": 1, "ok": 3}
_MENDED = 2


def diagnose(settings: Settings, open_board: Callable[[], Board], *, fix: bool) -> list[Finding]:
    """Everything that Kumihimo needs, and what agents need.

    The board is only opened where the database is in order: to open it is to bring it up to date.
    """
    examination = Examination(settings, fix=fix)
    machine = look_at_machine(examination)
    database = look_at_database(examination)
    board = _board(settings, database, open_board)
    projects = [] if board is None else [one for one in board.projects.list() if one.status == "active"]
    git = look_at_git(examination)
    findings = [*machine, database, *look_at_host(examination), *look_at_notifications(examination), git]
    if git.verdict == "ok":
        findings.append(look_at_identity(examination, {Path(project.working_directory) for project in projects}))
    if board is not None:
        findings += _look_at_board(examination, board, projects, with_git=git.verdict == "ok")
    return [*findings, *look_at_clients(examination, _versions(board))]


def by_weight(findings: list[Finding]) -> list[Finding]:
    """What keeps Kumihimo from working first, then what wants to be mended, what was, and what is in order."""
    return sorted(findings, key=lambda finding: _MENDED if finding.mended else _WEIGHTS[finding.verdict])


def _look_at_board(examination: Examination, board: Board, projects: list[Project], *, with_git: bool) -> list[Finding]:
    return [
        *look_at_events(examination, board),
        *look_at_projects(examination, projects),
        *(look_at_worktrees(examination, board, projects) if with_git else ()),
        look_at_runs(examination, board),
        *look_at_waiting(examination, board),
        look_at_orphans(examination, board),
    ]


def _board(settings: Settings, database: Finding, open_board: Callable[[], Board]) -> Board | None:
    """None where there is nothing to look at, or what there is can't be looked at as it is."""
    made = "://" in settings.database or Path(settings.database).exists()
    if database.verdict != "ok" or not made:
        return None
    return open_board()


def _versions(board: Board | None) -> dict[str, str]:
    """What the programs of agents have said of themselves before."""
    if board is None:
        return {}
    seen = (health for _, health in board.hosts.health())
    return {health.program: health.version for health in seen if health.program and health.version}
