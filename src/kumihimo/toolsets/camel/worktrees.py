"""Worktrees."""

from __future__ import annotations

from collections.abc import Iterable

from kumihimo.engine.worktrees.git import printable
from kumihimo.engine.worktrees.removal import Removal
from kumihimo.operations.worktrees import WorktreeView
from kumihimo.toolsets.camel.answer import Answer


class WorktreeAnswer(Answer, frozen=True):
    name: str
    path: str
    branch: str | None
    base: str
    head: str | None
    holder: str | None
    state: str
    ahead: int
    uncommitted: list[str]
    untracked: list[str]
    snapshot: str | None


class WorktreesAnswer(Answer, frozen=True):
    worktrees: list[WorktreeAnswer]


class RemovalAnswer(Answer, frozen=True):
    name: str
    removed: bool
    reason: str
    explanation: str
    snapshot: str | None


class RemovalsAnswer(Answer, frozen=True):
    worktrees: list[RemovalAnswer]


def worktree(it: WorktreeView) -> WorktreeAnswer:
    found, state = it.worktree, it.state
    return WorktreeAnswer(
        name=found.name,
        path=printable(str(found.path)),
        branch=found.branch,
        base=found.base,
        head=found.head,
        holder=it.holder,
        state=_word(it),
        ahead=state.ahead if state else 0,
        uncommitted=_names(state and (*state.staged, *state.modified, *state.deleted, *state.unmerged)),
        untracked=_names(state and state.untracked),
        snapshot=found.snapshot,
    )


def removal(it: Removal) -> RemovalAnswer:
    return RemovalAnswer(name=it.name, removed=it.removed, reason=it.why, explanation=it.sentence, snapshot=it.snapshot)


def _names(paths: Iterable[str] | None) -> list[str]:
    """Names as they can be shown: git knows any bytes as a name."""
    return [printable(path) for path in paths or ()]


def _word(it: WorktreeView) -> str:
    """In one word, for a list."""
    state = it.state
    if state is None:
        return "gone"
    if state.operation is not None:
        return state.operation
    if state.dirty or state.untracked:
        return "dirty"
    return "merged" if state.merged is not None else "unmerged"
