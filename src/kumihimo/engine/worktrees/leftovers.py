"""Files that git does not track: what is in their folders, and which of the ignored ones exist nowhere else.

An ignored file that is the same, byte by byte, in the main checkout is not unique (a copied `.env`). What a tool makes again
is left out: folders called `node_modules` or `__pycache__`, folders that say so themselves (a `CACHEDIR.TAG`, the
`pyvenv.cfg` of a virtual environment), `*.pyc` and `.DS_Store`. Everything else counts.
"""

from __future__ import annotations

import filecmp
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

_MADE_AGAIN = {"node_modules", "__pycache__"}
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55"


def unique_ignored(top: Path, elsewhere: Path | None, names: Iterable[str]) -> list[str]:
    """The files that are unique among the ignored ones. A name with `/` at its end is a folder."""
    found = (path for name in names for path in _files(top / name, sparing=True))
    return sorted(str(path.relative_to(top)) for path in found if not _same(path, elsewhere, top))


def all_files(top: Path, names: Iterable[str]) -> list[str]:
    """The files, links and empty folders that the names stand for. A repository in the worktree is a folder as any other."""
    return sorted(str(path.relative_to(top)) for name in names for path in _files(top / name, sparing=False))


def size(top: Path, names: Iterable[str]) -> int:
    """Bytes on the disk."""
    places = (top / name for name in names)
    return sum(place.lstat().st_size for place in places if os.path.lexists(place))


def _files(path: Path, *, sparing: bool) -> Iterator[Path]:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        # An agent at work has deleted it since it was listed.
        return
    if stat.S_ISREG(mode):
        if not (sparing and (path.suffix == ".pyc" or path.name == ".DS_Store")):
            yield path
    elif stat.S_ISLNK(mode):
        yield path
    elif stat.S_ISDIR(mode):
        if sparing and _made_again(path):
            return
        inner = sorted(path.iterdir())
        # Git itself needs some of its empty folders; those of ignored files say nothing.
        if not inner and not sparing:
            yield path
        for entry in inner:
            yield from _files(entry, sparing=sparing)


def _made_again(folder: Path) -> bool:
    if folder.name in _MADE_AGAIN or (folder / "pyvenv.cfg").is_file():
        return True
    tag = folder / "CACHEDIR.TAG"
    return tag.is_file() and tag.read_bytes()[: len(_TAG)] == _TAG


def _same(path: Path, elsewhere: Path | None, top: Path) -> bool:
    if elsewhere is None:
        return False
    other = elsewhere / path.relative_to(top)
    try:
        if path.is_symlink() or other.is_symlink():
            return path.is_symlink() and other.is_symlink() and path.readlink() == other.readlink()
        return other.is_file() and filecmp.cmp(path, other, shallow=False)
    except OSError:
        # What can't be read there can't be relied on.
        return False
