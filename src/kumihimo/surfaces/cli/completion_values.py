"""What may stand in the place of an argument, for a shell that completes it: ids of tasks, runs and groups, names, files.

The board is only looked at: one that is not there is not made, and one of another version is left to those who upgrade it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import click
from click.shell_completion import CompletionItem

from kumihimo.domain.errors import KumihimoError
from kumihimo.services.board import Board
from kumihimo.services.projects import Place

_MOST = 100
# What may stand there, each with a word about it.
Words = list[tuple[str, str]]


class Values(Protocol):
    def __call__(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]: ...


def _projects(board: Board, _: Place) -> Words:
    return [(project.name, project.working_directory) for project in board.projects.list()]


def _agents(board: Board, _: Place) -> Words:
    return [(agent.name, agent.client) for agent in board.agents.list(limit=_MOST).items if agent.status != "archived"]


def _tasks(board: Board, place: Place) -> Words:
    open_ones = ("in_progress", "blocked", "todo", "backlog")
    found = board.tasks.list(place, statuses=open_ones, limit=_MOST).items
    return [(str(view.task.number), view.task.title) for view in found]


def _runs(board: Board, _: Place) -> Words:
    sights = board.executions.sights_of(limit=_MOST).items
    return [(sight.execution.id, f"{sight.role}, {sight.execution.status}") for sight in sights]


def _work(board: Board, place: Place) -> Words:
    return [*_tasks(board, place), *_runs(board, place)]


def _groups(board: Board, _: Place) -> Words:
    return [(group.id, group.description) for group in board.groups.list()[:_MOST]]


def _memories(board: Board, place: Place) -> Words:
    return [(memory.slug, memory.title) for memory in board.memories.list(place, limit=_MOST).items]


def _handoffs(board: Board, place: Place) -> Words:
    return [(view.handoff.id, view.handoff.summary) for view in board.handoffs.pending(place=place)]


# By the name of the argument, which means the same in every verb.
_WORDS: dict[str, Callable[[Board, Place], Words]] = {
    "project": _projects, "global_project": _projects, "agent": _agents, "assignee": _agents, "role": _agents,
    "from_agent": _agents, "to_agent": _agents, "task": _tasks, "parent": _tasks, "run": _runs, "from_run": _runs,
    "work": _work, "group": _groups, "memory": _memories, "handoff": _handoffs,
}  # fmt: skip
_FILES = {"file": "file", "plan": "file", "hub_config": "file", "global_db": "file", "directory": "dir"}


def values_of(parameter: click.Parameter) -> Values | None:
    """None where click itself knows, as it does of choices, or nobody does."""
    name = parameter.name or ""
    if isinstance(parameter.type, click.Choice) or (name not in _FILES and name not in _WORDS):
        return None

    def complete(ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        if name in _FILES:
            return [CompletionItem(incomplete, type=_FILES[name])]
        found = _look(ctx, _WORDS[name])
        return [CompletionItem(word, help=about) for word, about in found if word.startswith(incomplete)]

    return complete


def _look(context: click.Context, words: Callable[[Board, Place], Words]) -> Words:
    from kumihimo.app import open_board
    from kumihimo.surfaces.cli.program import settings_of

    try:
        settings = settings_of(context.find_root().obj)
        if not _is_ours(settings.database):
            return []
        board = open_board(settings)
        try:
            return words(board, Place(settings.project, str(settings.folder.resolve())))
        finally:
            board.store.close()
    except KumihimoError:
        # No project here, no database to be reached: there is nothing to offer.
        return []


def _is_ours(database: str) -> bool:
    """There, and of this version: to open another one would change it."""
    from kumihimo.store.schema import VERSION
    from kumihimo.store.store import connect

    if "://" not in database and not Path(database).is_file():
        return False
    connection = connect(database)
    try:
        return connection.schema_version() == VERSION
    finally:
        connection.close()
