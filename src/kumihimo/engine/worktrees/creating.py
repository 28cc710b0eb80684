"""Making a worktree, or taking up the one that is there: on its branch, with its work, within its scope."""

from __future__ import annotations

from pathlib import Path

from kumihimo.domain.agent import Scope
from kumihimo.domain.errors import BranchTaken, GitError, WorktreeInTheWay
from kumihimo.engine.worktrees.entry import Entry, entries
from kumihimo.engine.worktrees.git import Git, printable
from kumihimo.engine.worktrees.holding import Live
from kumihimo.engine.worktrees.mending import healthy, is_orphan, readopt, undo_adoption
from kumihimo.engine.worktrees.merged import is_merged
from kumihimo.engine.worktrees.operation import operation_in
from kumihimo.engine.worktrees.record import Record
from kumihimo.engine.worktrees.removing import forget_missing
from kumihimo.engine.worktrees.restriction import leave_out, restrict
from kumihimo.engine.worktrees.site import Site
from kumihimo.engine.worktrees.worktree import Worktree


def create(site: Site, name: str, branch: str, base: str, *, holder: str, scope: Scope, live: Live | None) -> Worktree:
    """The worktree of that name, held. Where it can't be had, it is not held either."""
    site.repository.git.run("check-ref-format", "--branch", branch)
    commit = site.repository.commit_of(base)
    with site.alone():
        taken = site.holds.take(name, holder, live)
        try:
            site.repository.exclude(".kumi/")
            entry = _have(site, name, branch, commit, scope)
            restrict(Git(entry.path), scope, site.scope(name))
            admin = entry.admin.name if entry.admin is not None else name
            site.records.keep(Record(name, admin, entry.branch, scope))
            site.holds.fasten(entry, holder)
        except BaseException:
            if taken:
                site.holds.give_back(name, holder)
            raise
        return site.worktree(name, entry)


def _have(site: Site, name: str, branch: str, base: str, scope: Scope) -> Entry:
    undo_adoption(site.path(name))
    entry = site.locate(name)
    place = site.path(name)
    if entry is not None and healthy(entry):
        _take_up(site, name, entry, branch, base)
    elif entry is not None and not entry.missing:
        # It leads to another repository, as in a copied project.
        raise WorktreeInTheWay(name, printable(str(entry.path)))
    elif entry is not None and not place.exists():
        record = site.records.find(name)
        known = entry.branch or (record.branch if record is not None else None)
        forget_missing(site, name, entry)
        _add(site, name, known if known and site.repository.find(f"refs/heads/{known}") else branch, base, scope)
    elif place.is_symlink() or (place.exists() and not place.is_dir()):
        raise WorktreeInTheWay(name, printable(str(place)))
    elif place.is_dir() and is_orphan(place):
        _adopt(site, name, branch, base)
    elif place.is_dir() and any(place.iterdir()):
        raise WorktreeInTheWay(name, printable(str(place)))
    else:
        _add(site, name, branch, base, scope)
    found = site.locate(name)
    if found is None:
        raise GitError("worktree add", printable(str(place)), "git does not list the worktree it has made")
    return found


def _add(site: Site, name: str, branch: str, base: str, scope: Scope) -> None:
    """A fresh checkout: of the branch where it exists, with the work that is on it, else of a new one from the base."""
    repository, place = site.repository, site.path(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    existing = repository.find(f"refs/heads/{branch}")
    words = [str(place), branch] if existing else ["--no-track", "-b", branch, str(place), base]
    forced = ["--force"] if _free(site, branch) else []
    repository.git.run("worktree", "add", "--no-checkout", *forced, *words)
    git = Git(place)
    try:
        if scope.exclude:
            leave_out(git, scope.exclude)
        git.run("reset", "--hard", "--quiet")
    except GitError:
        # Nobody has worked in it yet.
        repository.git.run("worktree", "remove", "--force", "--force", str(place))
        if existing is None:
            repository.git.run("update-ref", "-d", f"refs/heads/{branch}", base)
        raise
    began = repository.git.maybe("merge-base", existing, base) if existing else base
    site.records.rebase(name, site.records.base(name) or began or base)
    admin = Path(git.text("rev-parse", "--absolute-git-dir")).name
    site.records.keep(Record(name, admin, branch, Scope(exclude=scope.exclude)))


def _free(site: Site, branch: str) -> bool:
    """Whether a worktree whose folder is gone still counts as being on the branch. A real one is in the way."""
    on_it = [entry for entry in entries(site.repository) if entry.branch == branch]
    for entry in on_it:
        if not entry.missing:
            raise BranchTaken(printable(branch), printable(str(entry.path)))
    return bool(on_it)


def _adopt(site: Site, name: str, branch: str, base: str) -> None:
    repository = site.repository
    record = site.records.find(name)
    known = record.branch if record is not None else None
    wanted = known if known and repository.find(f"refs/heads/{known}") else branch
    _free(site, wanted)
    if repository.find(f"refs/heads/{wanted}") is None:
        repository.git.run("update-ref", f"refs/heads/{wanted}", site.records.base(name) or base, "")
    entry = readopt(repository, name, site.path(name), wanted)
    if record is not None and record.scope.exclude:
        # What was never checked out is not deleted.
        leave_out(Git(entry.path), record.scope.exclude)
    site.records.rebase(name, site.records.base(name) or base)
    admin = entry.admin.name if entry.admin is not None else name
    site.records.keep(Record(name, admin, wanted, site.scope(name)))


def _take_up(site: Site, name: str, entry: Entry, branch: str, base: str) -> None:
    """Go on in it: on a new branch from where it is, or from the base where all that was done has arrived there."""
    git = Git(entry.path)
    if entry.branch == branch or entry.admin is None or operation_in(entry.admin) is not None:
        return
    existing = site.repository.find(f"refs/heads/{branch}")
    clean = not git.run("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=none").out
    if existing is not None:
        # Somebody has made it: it is used where it goes on from here, and left alone where it does not.
        if clean and not _free(site, branch) and _goes_on(git, entry.head, existing):
            git.run("switch", "--quiet", "--no-guess", branch)
        return
    if clean and entry.head and is_merged(site.repository, entry.head, base) and _starts(git, branch, base):
        site.records.rebase(name, base)
        return
    if entry.head is not None:
        git.run("update-ref", f"refs/heads/{branch}", entry.head, "")
    git.run("symbolic-ref", "-m", f"kumi: continue on {branch}", "HEAD", f"refs/heads/{branch}")


def _goes_on(git: Git, head: str | None, commit: str) -> bool:
    return head is None or git.says("merge-base", "--is-ancestor", head, commit)


def _starts(git: Git, branch: str, base: str) -> bool:
    """False where an untracked file is in the way: then the old start has to do."""
    return git.run("switch", "--quiet", "--no-track", "--create", branch, base, fine=(0, 1, 128)).code == 0
