"""Tasks: a handle on work that outlives the call, and the store that keeps them.

The store is the only memory: a door reads a task from it whenever it is asked, so a handle survives the death of
the process that gave it.
"""

from collections.abc import Awaitable, Mapping
from typing import Any, Final, Literal, Protocol

from msgspec import UNSET, Raw, Struct, UnsetType

EXTENSION: Final = "io.modelcontextprotocol/tasks"
REQUIRED: Final[Mapping[str, Any]] = {"extensions": {EXTENSION: {}}}

Status = Literal["working", "input_required", "completed", "cancelled", "failed"]


class Task(Struct, kw_only=True, rename="camel"):
    """The state of a task as `tasks/get` shows it.

    `result` is the tool's answer as `encode_task_result` makes it, `error` a JSON-RPC error (code and message), and
    `input_requests` maps a key, used once in the life of the task, to what is asked of the client.
    """

    task_id: str
    status: Status
    created_at: str
    last_updated_at: str
    ttl_ms: int | None = None
    poll_interval_ms: int | UnsetType = UNSET
    status_message: str | UnsetType = UNSET
    input_requests: Mapping[str, Any] | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Mapping[str, Any] | UnsetType = UNSET

    def handle(self) -> "Task":
        """The task without what only `tasks/get` shows."""
        return Task(
            task_id=self.task_id,
            status=self.status,
            created_at=self.created_at,
            last_updated_at=self.last_updated_at,
            ttl_ms=self.ttl_ms,
            poll_interval_ms=self.poll_interval_ms,
            status_message=self.status_message,
        )


class TaskStore(Protocol):
    """Where tasks live. Each method may be a plain or a coroutine function, and checks what the caller may see."""

    def get(self, caller: Any, task_id: str) -> "Task | Awaitable[Task | None] | None":
        """The task now, or None where there is none for this caller."""
        ...

    def update(self, caller: Any, task_id: str, responses: Mapping[str, Raw]) -> "bool | Awaitable[bool]":
        """Take answers to input requests; keys that are not outstanding are ignored. False: no such task."""
        ...

    def cancel(self, caller: Any, task_id: str) -> "bool | Awaitable[bool]":
        """Ask the work to stop; no effect on a task that has ended. False: no such task."""
        ...
