"""Numbered migrations. The version is looked up again inside the write lock, so any number of starters may race."""

from __future__ import annotations

import re
import time
from pathlib import Path

from kumihimo.domain.errors import StoreOutcomeUnknown, StoreTooNew
from kumihimo.store.connection import Connection

# The number of the newest file in `migrations/`; a test holds the two together. Not counted at start-up: a start that
# finds the database in order reads no file.
VERSION = 10
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
# While somebody reads for long (a backup), a step that changes a table waits, and everybody behind it: for moments only.
_TRIES = 100
_PAUSE_SECONDS = 1.0
_FOLDER = Path(__file__).parent / "migrations"


def migrate(connection: Connection) -> list[int]:
    """Bring the database to `VERSION`. Answers the numbers of the steps that were taken.

    One that is newer is left as it is, and used where it says that a version like ours can.
    """
    tries = 0
    while True:
        tries += 1
        try:
            return _migrate_once(connection)
        except StoreOutcomeUnknown:
            # The version says it, when it is looked at again.
            if tries >= _TRIES:
                raise
        except Exception as error:
            if tries >= _TRIES or not connection.retry(error):
                raise
        # Those who wait behind us go first.
        time.sleep(_PAUSE_SECONDS)


def _migrate_once(connection: Connection) -> list[int]:
    connection.begin_write()
    try:
        found = connection.schema_version()
        if found > VERSION and connection.schema_oldest() > VERSION:
            raise StoreTooNew(connection.place, found=found, known=VERSION)
        steps = list(range(found + 1, VERSION + 1))
        if steps:
            _take(steps, connection.schema_oldest() if found else 0, connection)
    except BaseException:
        connection.rollback()
        raise
    connection.commit()
    return steps


def _take(steps: list[int], oldest: int, connection: Connection) -> None:
    connection.make_way()
    for step in steps:
        for statement in statements(step, connection.dialect.words):
            connection.execute(statement)
        # Who can't live with one of the steps can't live with what all of them have made.
        oldest = max(oldest, oldest_after(step))
        connection.set_schema_version(step, oldest)


def outgrown(connection: Connection, error: Exception) -> Exception:
    """What to say of a statement that the database does not take: that the schema was changed under us, where it was."""
    try:
        found = connection.schema_version()
    except Exception:  # noqa: BLE001 - of either database
        # It can't be asked any more: the first error is the one to tell.
        return error
    return StoreTooNew(connection.place, found=found, known=VERSION) if found > VERSION else error


def oldest_after(step: int) -> int:
    """The oldest version that can go on working when a step is taken under it: as its file says in a line
    `-- oldest: NUMBER`, or none but its own.

    A step may say so where older versions need not know of what it adds: columns that may be empty or have a default,
    tables, indexes. Not where it removes or renames something, or where what newer versions write in old columns would be
    misread.
    """
    found = re.search(r"^-- oldest: (\d+)$", _file(step).read_text("utf-8"), re.MULTILINE)
    return int(found[1]) if found else step


def _file(step: int) -> Path:
    (path,) = _FOLDER.glob(f"{step:04d}_*.sql")
    return path


def statements(step: int, words: dict[str, str]) -> list[str]:
    """The statements of one file, in the words of one database."""
    lines = [line for line in _file(step).read_text("utf-8").splitlines() if not line.lstrip().startswith("--")]
    text = "\n".join(lines)
    for word, meaning in words.items():
        text = text.replace(f"@{word}@", meaning)
    return [statement.strip() for statement in text.split(";\n") if statement.strip(" ;\n")]
