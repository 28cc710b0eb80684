"""The machine: Python, SQLite, folders and who can read them, room on the disk, and what killed commands left lying about."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kumihimo.domain.errors import LibraryTooOld
from kumihimo.domain.finding import Finding
from kumihimo.engine.processes import identity
from kumihimo.services.diagnosis.examination import Examination

_LEAST_MEGABYTES = 200
# Written beside a file and then put in its place; what a killed process leaves has its pid at the end.
_HALF_WRITTEN = re.compile(r"(?:up\.json|port|token)\.(\d+)")
_TEMPORARY = ("kumi-check-*", "kumi-index-*")
_LEFT_SECONDS = 3600.0


def look_at_machine(examination: Examination) -> list[Finding]:
    settings = examination.settings
    folders = dict.fromkeys((settings.data_folder, settings.state_folder))
    return [
        examination.plain("python", sys.version.split()[0]),
        _library(examination),
        *(_folder(examination, folder) for folder in folders),
        *_secrets(examination),
        _room(examination),
        *_leftovers(examination),
    ]


def _library(examination: Examination) -> Finding:
    import apsw

    from kumihimo.store.sqlite import NEEDED, require_library

    found = apsw.sqlite_lib_version()
    try:
        require_library(found, "")
    except LibraryTooOld:
        return examination.error("sqlite", "sqlite_old", found=found, needed=".".join(map(str, NEEDED)))
    return examination.plain("sqlite", found)


def _folder(examination: Examination, folder: Path) -> Finding:
    if not folder.exists():
        if not examination.fix:
            return examination.ok("folder", "made_later", path=folder)
        try:
            folder.mkdir(parents=True, mode=0o700)
        except OSError:
            return examination.error("folder", "folder_unwritable", path=folder)
        return examination.mended("folder", "made", path=folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        return examination.error("folder", "folder_unwritable", path=folder)
    return _closed(examination, "folder", folder, 0o700) or examination.plain("folder", str(folder))


def _secrets(examination: Examination) -> list[Finding]:
    """The files that hold tokens and hashes of passkeys."""
    database = Path(examination.settings.database)
    files = {"token": examination.settings.token_file, "database file": database}
    found = (_closed(examination, name, file, 0o600) for name, file in files.items() if file.is_file())
    return [finding for finding in found if finding is not None]


def _closed(examination: Examination, name: str, path: Path, mode: int) -> Finding | None:
    """None where nobody else can read it."""
    if not path.stat().st_mode & 0o077:
        return None
    if not examination.fix:
        return examination.warning(name, "readable", path=path, mode=f"{mode:o}")
    try:
        path.chmod(mode)
    except PermissionError:
        # It is somebody else's: only they can close it.
        return examination.warning(name, "readable", path=path, mode=f"{mode:o}")
    return examination.mended(name, "closed", path=path)


def _room(examination: Examination) -> Finding:
    folder = examination.settings.state_folder
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    if free < _LEAST_MEGABYTES * 1_000_000:
        return examination.warning("disk", "disk_full", megabytes=free // 1_000_000, path=folder)
    return examination.ok("disk", "disk", gigabytes=f"{free / 1_000_000_000:.1f}")


def _leftovers(examination: Examination) -> list[Finding]:
    found = [*_half_written(examination.settings.state_folder), *_forgotten(Path(tempfile.gettempdir()))]
    if not found:
        return []
    if not examination.fix:
        return [examination.warning("leftovers", "leftovers_found", count=len(found))]
    for path in found:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return [examination.mended("leftovers", "leftovers_removed", count=len(found))]


def _half_written(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        for path in folder.iterdir():
            named = _HALF_WRITTEN.fullmatch(path.name)
            if named and identity.of(int(named[1])) is None:
                yield path


def _forgotten(folder: Path) -> Iterator[Path]:
    """Folders of checks that nobody has touched for an hour: none takes as long."""
    before = time.time() - _LEFT_SECONDS
    for pattern in _TEMPORARY:
        for path in folder.glob(pattern):
            try:
                seen = path.lstat()
            except FileNotFoundError:
                continue
            if seen.st_uid == os.getuid() and seen.st_mtime < before and path.is_dir() and not path.is_symlink():
                yield path
