"""Worktrees: where runs work. Nothing in one is ever lost by removing it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kumihimo.domain.errors import ExecutionNotFound, GitError, TaskNotFound
from kumihimo.engine.worktrees.removal import Removal
from kumihimo.engine.worktrees.state import State
from kumihimo.engine.worktrees.worktree import Worktree
from kumihimo.operations.operation import Arguments, Call, Nothing, operation
from kumihimo.services.workplaces import lives, open_worktrees


class CollectWorktrees(Arguments, frozen=True):
    dry_run: Annotated[bool, Meta(description="Only say what would be done.")] = False


class NameWork(Arguments, frozen=True):
    work: Annotated[str | int, Meta(description="The number of a task, or the exec_ id of a run.")]


class WorktreeView(Struct, frozen=True):
    """A worktree, who holds it, and what it holds that is not in its target."""

    worktree: Worktree
    holder: str | None
    state: State | None


@operation("worktree.list", Nothing, list[WorktreeView], GitError, reads=True, slow=True)
def list_(call: Call, _: Nothing) -> list[WorktreeView]:
    """The worktrees of a project and what each of them holds."""
    worktrees = open_worktrees(call.board.projects.at(call.place))
    target = worktrees.repository.target()
    return [
        WorktreeView(
            found, worktrees.holder(found.name), worktrees.examine(found, target) if found.path.is_dir() else None
        )
        for found in worktrees.all()
    ]


@operation("worktree.gc", CollectWorktrees, list[Removal], GitError, destructive=True, slow=True)
def gc(call: Call, arguments: CollectWorktrees) -> list[Removal]:
    """Remove worktrees whose work has arrived, and say why the others stay."""
    worktrees = open_worktrees(call.board.projects.at(call.place))
    return worktrees.gc({}, live=lives(call.board), dry_run=arguments.dry_run)


@operation("worktree.restore", NameWork, WorktreeView, TaskNotFound, ExecutionNotFound, GitError, slow=True)
def restore(call: Call, arguments: NameWork) -> WorktreeView:
    """Bring back a worktree as it was when it was removed."""
    project, name = call.board.workers.worktree_name(call.place, arguments.work)
    worktrees = open_worktrees(project)
    found = worktrees.restore(name)
    return WorktreeView(found, None, worktrees.examine(found, worktrees.repository.target()))


OPERATIONS = (list_, gc, restore)
