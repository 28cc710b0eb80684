"""One call through the hub: what is asked, by whom, and what became known about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.permission import EVERYTHING, Permission

# No clock counts further.
MOST_MS = 2**53
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


def require_name(name: Any) -> None:
    if not isinstance(name, str):
        raise HubError(Code.INVALID_REQUEST, f"A tool is called by its name, which is text and not {repr(name)[:80]}.")


def written(name: Any, params: Any, timeout_ms: Any, caller: str | None, asking: Asking) -> Call:
    """A call as a program makes it, with its arguments as whoever gets them will read them. HubError where it is none."""
    require_name(name)
    numeric = isinstance(timeout_ms, int | float) and not isinstance(timeout_ms, bool)
    if timeout_ms is not None and not (numeric and 0 < timeout_ms < MOST_MS):
        raise HubError(Code.INVALID_REQUEST, f"timeout_ms is a number of milliseconds above 0, not {timeout_ms!r:.80}.")
    try:
        # What JSON has no words for is left to whoever tells of mistakes in arguments.
        given = None if params is None else msgspec.json.decode(msgspec.json.encode(params))
    except (TypeError, ValueError, RecursionError):
        given = params
    return Call(name, given, timeout_ms, caller, asking=asking)
