"""Where words occur: one question for each kind of thing, over so many of the newest that nobody waits."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from kumihimo.store.connection import Connection

# So many of the newest of each kind are looked through.
_NEWEST = 20_000


class Found(Struct, frozen=True):
    kind: str
    id: str
    title: str
    text: str
    status: str | None
    project_id: str | None


# For each kind: what it is called by, its title, its text, its state, its project; and where the newest are.
_KINDS = {
    "project": "name AS id, name AS title, working_directory AS body, status, id AS project_id "
    "FROM projects ORDER BY created_at DESC",
    "agent": "name AS id, name AS title, role AS body, status, NULL AS project_id FROM agents ORDER BY created_at DESC",
    "group": "id, description AS title, id AS body, status, project_id FROM run_groups ORDER BY created_at DESC",
    "task": "id, title, '#' || number || ' ' || description AS body, status, project_id FROM tasks ORDER BY created_at DESC",
    "memory": "slug AS id, title, summary || ' ' || content AS body, status, project_id "
    "FROM memories ORDER BY created_at DESC",
    "handoff": "id, summary AS title, coalesce(context, '') || ' ' || coalesce(recommendations, '') AS body, "
    "NULL AS status, project_id FROM handoffs ORDER BY created_at DESC",
    "run": "id, prompt AS title, id || ' ' || client || ' ' || coalesce(branch, '') AS body, status, project_id "
    "FROM executions ORDER BY queued_at DESC",
}


def found_in(connection: Connection, words: Sequence[str], limit: int) -> list[Found]:
    """Things in which all of these words (in small letters) occur."""
    found: list[Found] = []
    patterns = [_pattern(word) for word in words]
    where = " AND ".join("lower(id || ' ' || title || ' ' || body) LIKE ? ESCAPE '!'" for _ in patterns)
    for kind, source in _KINDS.items():
        rows = connection.execute(
            f"SELECT id, title, body, status, project_id FROM (SELECT {source} LIMIT {_NEWEST}) AS newest "
            f"WHERE {where} LIMIT ?",
            (*patterns, limit),
        )
        found += [Found(kind, *row) for row in rows]
    return found


def _pattern(word: str) -> str:
    escaped = word.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{escaped}%"
