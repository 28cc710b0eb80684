"""Processes that stand in a folder: to take it away under them would lose what they do next."""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")


def occupants(folder: Path) -> list[int]:
    """The processes whose working directory is in the folder. None are known where there is no /proc."""
    found: list[int] = []
    if not _PROC.is_dir():
        return found
    place = folder.resolve()
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stands = (entry / "cwd").readlink()
        except OSError:
            # It ended meanwhile, is a zombie, or is another user's.
            continue
        if stands.is_relative_to(place):
            found.append(int(entry.name))
    return sorted(found)
