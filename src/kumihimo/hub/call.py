"""One call through the hub: what is asked, by whom, and what became known about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Raw, Struct

from kumihimo.hub.permission import EVERYTHING, Permission

OnProgress = Callable[[float, float | None, str | None], None]
OnInput = Callable[[str, Any], Awaitable[Mapping[str, Any]]]


class Asking(Struct, frozen=True):
    """How a server can turn to whoever called while it works: to tell how far it is, and to ask for what it needs.

    `offers` is what the caller can be asked for, as the capabilities of a client. `comes_again`: `on_input` may end the call
    by raising, and whoever called makes it again with the answers; so a server that waits for them in the middle of its work
    can't be served that way, only one that has not begun. `meta` is told to the server beside the arguments.
    """

    on_progress: OnProgress | None = None
    on_input: OnInput | None = None
    offers: Mapping[str, Any] = {}
    comes_again: bool = False
    meta: Mapping[str, Any] | None = None


NOBODY = Asking()


class Call:
    """`reply` is all that the server answered, as it came; `data` of the answer is taken from it."""

    __slots__ = (
        "asking",
        "attempts",
        "away",
        "cached",
        "caller",
        "checked",
        "name",
        "params",
        "permission",
        "reply",
        "sent_bytes",
        "server",
        "timeout_ms",
        "tool",
    )

    def __init__(
        self,
        name: str,
        params: Any = None,
        timeout_ms: float | None = None,
        caller: str | None = None,
        permission: Permission = EVERYTHING,
        asking: Asking = NOBODY,
        away: str | None = None,
    ) -> None:
        self.name = name
        self.params: Any = {} if params is None else params
        self.timeout_ms = timeout_ms
        self.caller = caller
        self.permission = permission
        self.asking = asking
        # The host that began the session of who calls, where that is not this one.
        self.away = away
        self.server: str | None = None
        self.tool = name
        self.attempts = 0
        self.cached = False
        self.checked = False
        self.sent_bytes = 0
        self.reply: Raw | None = None
