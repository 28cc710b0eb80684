"""Where an instance works: in the folder of its project, or in a worktree of it where the server names one."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from kumihimo.domain.agent import Scope
from kumihimo.engine.processes import tree
from kumihimo.engine.worktrees.repository import Repository
from kumihimo.engine.worktrees.worktrees import Worktrees

_WORKTREES = Path(".kumi", "worktrees")
_INSTANCE = "ins_"


class Workspace(Struct, frozen=True):
    """A worktree that the server has named: it knows for which task, and we do not."""

    name: str
    branch: str
    write: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class Place(Struct, frozen=True):
    """A folder, and what must be writable besides."""

    directory: Path
    writable: tuple[Path, ...] = ()


def home_of(working_directory: str) -> Path | None:
    """The folder of a project, where this machine has it."""
    directory = Path(working_directory)
    return directory if directory.is_absolute() and directory.is_dir() else None


def place_of(home: Path, workspace: Workspace | None, instance_id: str) -> Place:
    """Made ready for this instance. Git may take its time: it belongs on a thread. WorktreeHeld while another is in it, and
    GitError where there can be none."""
    if workspace is None:
        return Place(home)
    repository = Repository.open(home)
    base = repository.commit_of(repository.target())
    scope = Scope(workspace.write, workspace.exclude)
    made = Worktrees(repository, home / _WORKTREES).create(
        workspace.name, workspace.branch, base, holder=instance_id, scope=scope, live=_lives
    )
    inside = home.resolve().relative_to(repository.top)
    # The git folder of a worktree lies outside it, and must be written to commit there.
    return Place(made.path / inside, (repository.common_folder,))


def _lives(holder: str) -> bool:
    """Whether a holder may still need its worktree. An instance does while it has a process here, whoever started it; of
    anybody else we know nothing."""
    return bool(tree.of_run(holder, None)) if holder.startswith(_INSTANCE) else True
