"""Whose hub is meant: the one answer for every verb and every door."""

from __future__ import annotations

from pathlib import Path

from kumihimo.domain.errors import NoProject, ProjectUnclear
from kumihimo.domain.project import Project
from kumihimo.hub.places import project_folder
from kumihimo.services.board import Board
from kumihimo.services.projects import Place


def hub_folder(board: Board, place: Place, here: Path) -> tuple[Path, Project | None]:
    """The folder whose hub it is, and its project where it has one: the named one, or that of the nearest registered folder
    above; elsewhere the folder is known by what lies in it.

    Over HTTP, where nobody stands anywhere, it is the only project; `here`, where the process was started, counts only where
    there is none yet: the user has servers all the same.
    """
    if place.project is not None:
        return _of(board.projects.show(place.project))
    if place.folder is None:
        try:
            return _of(board.projects.at(place))
        except NoProject:
            return project_folder(here), None
    try:
        project = board.projects.at(place)
    except (ProjectUnclear, NoProject):
        return project_folder(Path(place.folder)), None
    if Path(place.folder).is_relative_to(project.working_directory):
        return _of(project)
    return project_folder(Path(place.folder)), None


def _of(project: Project) -> tuple[Path, Project]:
    return Path(project.working_directory), project
