"""Changes that clients may hear of: lists, resources and tasks. Whoever changes something says so here, once."""

from collections.abc import Callable
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from kumihimo.wire.task import Task

TOOLS: Final = "notifications/tools/list_changed"
PROMPTS: Final = "notifications/prompts/list_changed"
RESOURCES: Final = "notifications/resources/list_changed"
RESOURCE_UPDATED: Final = "notifications/resources/updated"
TASK: Final = "notifications/tasks"


class Change(Struct, frozen=True):
    """One change: the method of its notification, and the URI or task that it is about."""

    method: str
    uri: str | None = None
    task: Task | None = None

    @property
    def key(self) -> tuple[str, str | None]:
        """Changes with the same key replace each other while they wait for a slow client."""
        return self.method, self.uri if self.task is None else self.task.task_id


Listener = Callable[[Change], None]


class Changes:
    """Where changes are announced and heard. To be used from the thread that serves."""

    def __init__(self) -> None:
        self._listeners: dict[object, Listener] = {}
        self.closing = False
        """Set when the server goes away: subscriptions that are cancelled then end with their result."""

    def tools(self) -> None:
        self._announce(Change(TOOLS))

    def prompts(self) -> None:
        self._announce(Change(PROMPTS))

    def resources(self) -> None:
        self._announce(Change(RESOURCES))

    def resource(self, uri: str) -> None:
        self._announce(Change(RESOURCE_UPDATED, uri=uri))

    def task(self, task: Task) -> None:
        """The state of a task changed; goes to clients of 2026-07-28 that listen to it."""
        self._announce(Change(TASK, task=task))

    def listen(self, owner: object, listener: Listener) -> None:
        self._listeners[owner] = listener

    def leave(self, owner: object, listener: Listener | None = None) -> None:
        """Hear no more; with a listener, only if the owner did not put another in its place."""
        if listener is None or self._listeners.get(owner) is listener:
            self._listeners.pop(owner, None)

    def _announce(self, change: Change) -> None:
        for listener in tuple(self._listeners.values()):
            listener(change)


class Filter(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a `subscriptions/listen` asks for, and what the acknowledgement grants."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: tuple[str, ...] = ()
    task_ids: tuple[str, ...] | UnsetType = UNSET

    def admits(self, change: Change) -> bool:
        if change.method == TOOLS:
            return self.tools_list_changed
        if change.method == PROMPTS:
            return self.prompts_list_changed
        if change.method == RESOURCES:
            return self.resources_list_changed
        if change.task is not None:
            return self.task_ids is not UNSET and change.task.task_id in self.task_ids
        return change.uri in self.resource_subscriptions


def change_params(change: Change) -> dict[str, Any] | None:
    """The parameters of a change's notification, for the revisions with a handshake."""
    return None if change.uri is None else {"uri": change.uri}
