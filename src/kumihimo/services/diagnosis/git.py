"""Git: is it there and recent enough, and does it know who commits."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Collection
from pathlib import Path

from kumihimo.domain.errors import GitError
from kumihimo.domain.finding import Finding
from kumihimo.engine.worktrees.git import NOBODY, Git
from kumihimo.services.diagnosis.examination import Examination

NEEDED = (2, 38)
STAND_IN = f"{NOBODY['NAME']} <{NOBODY['EMAIL']}>"
_KEYS = {"user.name": NOBODY["NAME"], "user.email": NOBODY["EMAIL"]}


def look_at_git(examination: Examination) -> Finding:
    needed = ".".join(map(str, NEEDED))
    try:
        printed = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return examination.warning("git", "git_missing", needed=needed)
    found = re.search(r"\d+(?:\.\d+)+", printed)
    if found is None:
        return examination.warning("git", "git_missing", needed=needed)
    if tuple(int(part) for part in found[0].split(".")[:2]) < NEEDED:
        return examination.warning("git", "git_old", found=found[0], needed=needed)
    return examination.plain("git", found[0])


def look_at_identity(examination: Examination, projects: Collection[Path]) -> Finding:
    """Whose name is under the commits that are made where the command was typed. Only in a project is it ever changed, and
    only where nobody's name is set."""
    git = Git(examination.settings.folder)
    try:
        top = git.maybe("rev-parse", "--show-toplevel")
        own = _name(git, "--global") or _name(git, "--system") or _of_environment()
        here = _name(git, "--local") if top else None
        ours = _is_project(examination.settings.folder, projects)
        if here == STAND_IN:
            return _stands_in(examination, git, Path(str(top)), own)
        if here or own or _effective(git):
            return examination.plain("identity", here or own or _effective(git) or "")
        if top and ours and examination.fix:
            for key, value in _KEYS.items():
                git.run("config", "--local", key, value)
            return examination.mended("identity", "identity_set", folder=top, stand_in=STAND_IN)
    except GitError as error:
        return examination.refused("identity", "warning", error)
    return examination.warning("identity", "identity_missing", stand_in=STAND_IN)


def _stands_in(examination: Examination, git: Git, top: Path, own: str | None) -> Finding:
    """Our name was put there when there was no other: it goes as soon as there is one."""
    if own is None:
        return examination.warning("identity", "identity_stands_in", folder=top, stand_in=STAND_IN)
    if not examination.fix:
        return examination.warning("identity", "identity_covered", folder=top, stand_in=STAND_IN)
    for key in _KEYS:
        git.run("config", "--local", "--unset-all", key)
    return examination.mended("identity", "identity_returned", folder=top)


def _name(git: Git, scope: str) -> str | None:
    """As that file has it, whole or not at all."""
    # A file that is not there ends with 1 or 128, depending on which it is.
    found = [git.maybe("config", scope, "--includes", key) for key in _KEYS]
    return f"{found[0]} <{found[1]}>" if all(found) else None


def _effective(git: Git) -> str | None:
    """From all files together, as git would take it."""
    found = [git.maybe("config", key) for key in _KEYS]
    return f"{found[0]} <{found[1]}>" if all(found) else None


def _of_environment() -> str | None:
    found = [os.environ.get(f"GIT_AUTHOR_{part}") for part in NOBODY]
    return f"{found[0]} <{found[1]}>" if all(found) else None


def _is_project(folder: Path, projects: Collection[Path]) -> bool:
    place = folder.resolve()
    return any(place in projects for place in (place, *place.parents))
