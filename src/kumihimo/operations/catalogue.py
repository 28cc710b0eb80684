"""The list of nouns that have operations. A module of this room that is not listed here fails a test."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from kumihimo.operations.operation import Operation

NOUNS = (
    "projects",
    "agents",
    "tasks",
    "contexts",
    "handoffs",
    "memories",
    "sessions",
    "logins",
    "mine",
    "instances",
    "executions",
    "groups",
    "runs",
    "conversations",
    "roles",
    "hosts",
    "workers",
    "merges",
    "worktrees",
    "hub",
    "servers",
    "search",
    "upkeep",
)
_MODULE_OF = {
    "project": "projects",
    "agent": "agents",
    "task": "tasks",
    "context": "contexts",
    "handoff": "handoffs",
    "memory": "memories",
    "session": "sessions",
    "login": "logins",
    "mine": "mine",
    "instance": "instances",
    "execution": "executions",
    "group": "groups",
    "run": "runs",
    "role": "roles",
    "host": "hosts",
    "worker": "workers",
    "merge": "merges",
    "worktree": "worktrees",
    "hub": "hub",
    "server": "servers",
    "board": "upkeep",
    # Verbs that have grown out of the file of their noun.
    "run.conversation": "conversations",
    "run.errors": "conversations",
    "board.search": "search",
}


def operations_of(noun: str) -> tuple[Operation[Any, Any], ...]:
    """The operations of one module of this room."""
    return import_module(f"kumihimo.operations.{noun}").OPERATIONS


@cache
def named(name: str) -> Operation[Any, Any]:
    """One operation by its dotted name; only the module of its noun is loaded."""
    noun = _MODULE_OF.get(name) or _MODULE_OF[name.partition(".")[0]]
    return next(operation for operation in operations_of(noun) if operation.name == name)


def every() -> list[Operation[Any, Any]]:
    return [operation for noun in NOUNS for operation in operations_of(noun)]
