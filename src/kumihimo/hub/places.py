"""Which files say what is behind the hub of a project."""

from __future__ import annotations

from pathlib import Path

from kumihimo.engine.worktrees.marks import is_repository
from kumihimo.settings import HUB_FILES, PROJECT_FILE, Settings

_MARKS = (*HUB_FILES, PROJECT_FILE)


def project_folder(folder: Path) -> Path:
    """The nearest folder above that is a project's by what lies in it; this one where none is."""
    return next((place for place in (folder, *folder.parents) if _is_project(place)), folder)


def _is_project(folder: Path) -> bool:
    return any((folder / mark).exists() for mark in _MARKS) or is_repository(folder)


def candidates(folder: Path, settings: Settings) -> list[Path]:
    """The files that would be read if they were there, the first ones first: the one that was named, or else those of the
    project and then those of the user."""
    if settings.hub_config is not None:
        return [settings.hub_config]
    return [place / name for place in (folder, settings.config_folder) for name in HUB_FILES]


def files_of(folder: Path, settings: Settings) -> list[Path]:
    """Those that are read. One that was named is among them whether it is there or not: it is to be missed."""
    named = settings.hub_config is not None
    return [file for file in candidates(folder, settings) if named or file.is_file()]


def file_to_write(folder: Path, settings: Settings) -> Path:
    """The one that was named, else the first that the project has, else a new one there."""
    if settings.hub_config is not None:
        return settings.hub_config
    return next((file for name in HUB_FILES if (file := folder / name).is_file()), folder / HUB_FILES[0])
