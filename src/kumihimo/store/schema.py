"""Numbered migrations. The version is looked up again inside the write lock, so any number of starters may race."""

from __future__ import annotations

from pathlib import Path

from kumihimo.domain.errors import StoreTooNew
from kumihimo.store.connection import Connection

# The number of the newest file in `migrations/`; a test holds the two together. Not counted at start-up: a start that
# finds the database in order reads no file.
VERSION = 4
# In this order every row finds what it points to. Tasks point to one another and to runs: those links come afterwards.
TABLES = (
    "meta",
    "projects",
    "agents",
    "passkeys",
    "project_agents",
    "tasks",
    "task_dependencies",
    "context_entries",
    "handoffs",
    "memories",
    "sessions",
    "run_groups",
    "executions",
    "instances",
    "start_orders",
    "tokens",
    "observations",
    "evidence",
    "health_checks",
    "parked_clients",
    "hosts",
    "events",
)
_FOLDER = Path(__file__).parent / "migrations"


def migrate(connection: Connection) -> list[int]:
    """Bring the database to `VERSION`. Answers the numbers of the steps that were taken."""
    connection.begin_write()
    try:
        found = connection.schema_version()
        if found > VERSION:
            raise StoreTooNew(connection.place, found=found, known=VERSION)
        steps = list(range(found + 1, VERSION + 1))
        for step in steps:
            for statement in statements(step, connection.dialect.words):
                connection.execute(statement)
            connection.set_schema_version(step)
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
    return steps


def statements(step: int, words: dict[str, str]) -> list[str]:
    """The statements of one file, in the words of one database."""
    (path,) = _FOLDER.glob(f"{step:04d}_*.sql")
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.lstrip().startswith("--")]
    text = "\n".join(lines)
    for word, meaning in words.items():
        text = text.replace(f"@{word}@", meaning)
    return [statement.strip() for statement in text.split(";\n") if statement.strip(" ;\n")]
