"""Projects: are their folders there, and do worktrees stand around in them that nobody needs."""

from __future__ import annotations

from pathlib import Path

from kumihimo.domain.errors import GitError
from kumihimo.domain.finding import Finding
from kumihimo.domain.project import Project
from kumihimo.services.assignments import WORKTREES
from kumihimo.services.board import Board
from kumihimo.services.diagnosis.examination import Examination
from kumihimo.services.workplaces import lives, open_worktrees

# To look into one takes some calls of git: more than so many are left to `kumi worktree gc`.
_MOST_LOOKED_INTO = 20


def look_at_projects(examination: Examination, projects: list[Project]) -> list[Finding]:
    gone = [project for project in projects if not Path(project.working_directory).is_dir()]
    found = [
        examination.warning("projects", "project_gone", name=project.name, path=project.working_directory)
        for project in gone
    ]
    return found or [examination.ok("projects", "projects", count=len(projects))]


def look_at_worktrees(examination: Examination, board: Board, projects: list[Project]) -> list[Finding]:
    places = [project for project in projects if _any_in(Path(project.working_directory) / WORKTREES)]
    return [_look_at(examination, board, project) for project in places]


def _look_at(examination: Examination, board: Board, project: Project) -> Finding:
    name = f"worktrees of {project.name}"
    try:
        worktrees = open_worktrees(project)
        count = len(worktrees.all())
        if count > _MOST_LOOKED_INTO:
            return examination.ok(name, "worktrees_many", count=count)
        removals = worktrees.gc({}, live=lives(board), dry_run=not examination.fix)
    except GitError as error:
        return examination.refused(name, "warning", error)
    names = ", ".join(removal.name for removal in removals if removal.removed)
    if not names:
        return examination.ok(name, "worktrees", count=count)
    if examination.fix:
        return examination.mended(name, "worktrees_removed", names=names)
    return examination.warning(name, "worktrees_done", names=names)


def _any_in(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())
