"""Taking a worktree away: only what exists elsewhere goes; what does not is saved first, or the worktree is kept."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from kumihimo.domain.errors import WorktreeNotFound
from kumihimo.engine.worktrees import snapshot
from kumihimo.engine.worktrees.entry import Entry
from kumihimo.engine.worktrees.examination import examine, examine_missing
from kumihimo.engine.worktrees.git import printable
from kumihimo.engine.worktrees.holding import Live, ours
from kumihimo.engine.worktrees.mending import healthy
from kumihimo.engine.worktrees.occupants import occupants
from kumihimo.engine.worktrees.removal import Removal
from kumihimo.engine.worktrees.site import Site
from kumihimo.engine.worktrees.state import State

GONE = ".gone-"
_MEGABYTE = 1024 * 1024


def remove(
    site: Site, name: str, target: str, *, live: Live, force: bool, only_merged: bool = False, dry_run: bool = False
) -> Removal:
    """`force`: whatever its size, and half-done rebases too. `only_merged`: work that has not arrived is kept, not saved."""
    with site.alone():
        entry = site.locate(name)
        if entry is None:
            return _unknown(site, name)
        kept = _kept_for_others(site, name, entry, live)
        if kept is not None:
            return kept
        if entry.missing:
            return Removal(name, True, "gone") if dry_run else remove_missing(site, name, entry)
        if not healthy(entry):
            return _broken(name, entry.path, "its .git leads somewhere else.")
        state = examine(site.repository, entry.path, target)
        kept = _kept_for_itself(site, name, entry, state, force)
        if kept is None and only_merged:
            kept = _kept_for_merging(site, name, entry, state, target)
        if kept is not None:
            return kept
        if dry_run:
            return Removal(name, True, "merged" if state.safe else "would_save", facts={"target": printable(target)})
        return _remove(site, name, entry, state, target)


def forget_missing(site: Site, name: str, entry: Entry) -> Removal:
    """A worktree whose folder is gone: what only its index or reflog knows is saved, then git forgets it."""
    assert entry.admin is not None
    state = examine_missing(entry)
    saved = None
    if state.staged or state.unmerged or state.strays or state.operation:
        subject = snapshot.Subject(name, None, entry.admin, site.base(name, entry), site.scope(name))
        saved = snapshot.take(site.repository, subject, state, site.now()).ref
    _forget(site, name, entry)
    return Removal(name, True, "saved" if saved else "gone", saved)


def remove_missing(site: Site, name: str, entry: Entry) -> Removal:
    done = forget_missing(site, name, entry)
    _let_go(site, name)
    return done


def clear_gone(site: Site) -> None:
    """Finish what a killed removal has left: such a folder was saved before it was put aside."""
    for folder in site.folder.glob(f"{GONE}*"):
        _delete(folder)


def _remove(site: Site, name: str, entry: Entry, state: State, target: str) -> Removal:
    assert entry.admin is not None
    done = Removal(name, True, "merged", facts={"target": printable(target)})
    seen: dict[str, tuple[int, int, int]] = {}
    if not state.safe:
        subject = snapshot.Subject(name, entry.path, entry.admin, site.base(name, entry), site.scope(name))
        saved = snapshot.take(site.repository, subject, state, site.now())
        done, seen = Removal(name, True, "saved", saved.ref), saved.seen
        again = examine(site.repository, entry.path, target)
        if replace(again, strays=()) != replace(state, strays=()):
            return _changed(name, saved.ref, printable(str(entry.path)))
    # Put aside first, in one step: from here on nobody finds it, and a removal that is cut off leaves nothing half there.
    _permit(entry.path)
    aside = Path(tempfile.mkdtemp(prefix=GONE, dir=entry.path.parent)) / name
    entry.path.rename(aside)
    for path, before in seen.items():
        if not os.path.lexists(aside / path) or snapshot.signature(aside / path) != before:
            aside.rename(entry.path)
            aside.parent.rmdir()
            return _changed(name, done.snapshot, printable(path))
    _forget(site, name, entry)
    _let_go(site, name)
    _delete(aside.parent)
    return done


def _forget(site: Site, name: str, entry: Entry) -> None:
    # Twice by force: once for what it holds, which is elsewhere by now, and once for the lock that is ours.
    site.repository.git.run("worktree", "remove", "--force", "--force", str(entry.path))
    site.records.forget(name)


def _let_go(site: Site, name: str) -> None:
    """The base, and the hold of somebody who is not alive: nobody needs them any more."""
    site.records.forget_base(name)
    holder = site.holds.holder(name)
    if holder is not None:
        site.holds.give_back(name, holder)


def _delete(folder: Path) -> None:
    def permit(function: Callable[[str], object], path: str, _: object) -> None:
        for place in (Path(path).parent, Path(path)):
            _permit(place)
        function(path)

    shutil.rmtree(folder, onerror=permit)


def _permit(place: Path) -> None:
    """A read-only folder keeps what is in it, and stays where it is."""
    mode = place.lstat().st_mode
    if not stat.S_ISLNK(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        place.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)


def _kept_for_others(site: Site, name: str, entry: Entry, live: Live) -> Removal | None:
    holder = site.holds.holder(name)
    if holder is not None and live(holder):
        return Removal(name, False, "held", facts={"holder": holder})
    path = printable(str(entry.path))
    if entry.locked is not None and not ours(entry):
        return Removal(name, False, "locked", facts={"reason": printable(entry.locked) or "-", "path": path})
    inside = occupants(entry.path)
    if inside:
        return Removal(name, False, "in_use", facts={"pid": inside[0]})
    if entry.path.is_symlink():
        return Removal(name, False, "symlink", facts={"path": path})
    return None


def _kept_for_itself(site: Site, name: str, entry: Entry, state: State, force: bool) -> Removal | None:
    path = printable(str(entry.path))
    if state.submodules:
        named = printable(", ".join(state.submodules))
        return Removal(name, False, "submodule", facts={"submodules": named, "path": path})
    if state.operation is not None and not force:
        return Removal(name, False, "operation", facts={"operation": state.operation, "path": path})
    if state.size > site.limit and not force:
        sizes = {"size": state.size // _MEGABYTE, "limit": site.limit // _MEGABYTE}
        return Removal(name, False, "too_large", facts={**sizes, "path": path})
    return None


def _kept_for_merging(site: Site, name: str, entry: Entry, state: State, target: str) -> Removal | None:
    named = printable(target)
    if state.target_gone:
        return Removal(name, False, "target_gone", facts={"target": named, "branch": printable(state.branch or "-")})
    # Where no commit was made, changed files are all the work there is; after a merge they are what was left over.
    unfinished = state.head == site.base(name, entry) and (state.dirty or bool(state.untracked))
    if state.merged is None or unfinished:
        return Removal(name, False, "unmerged", facts={"target": named, "ahead": state.ahead})
    return None


def _unknown(site: Site, name: str) -> Removal:
    place = site.path(name)
    if os.path.lexists(place):
        return _broken(name, place, "its folder in git is gone.")
    raise WorktreeNotFound(name)


def _broken(name: str, path: Path, reason: str) -> Removal:
    return Removal(name, False, "broken", facts={"path": printable(str(path)), "reason": reason})


def _changed(name: str, saved: str | None, file: str) -> Removal:
    return Removal(name, False, "changed_meanwhile", saved, {"file": file})
