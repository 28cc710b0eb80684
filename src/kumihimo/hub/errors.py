"""What can go wrong with a call through the hub, as codes that are stable.

HubError       an answer: `code`, `message`, `details`, and whether trying again may help
HubClosed      an exception: the hub was closed, nothing can be asked of it any more
└── HubElsewhere   nothing can be asked of it here, since it lives on another event loop
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any


class Code(StrEnum):
    CONNECTION_FAILED = "CONNECTION_FAILED"
    CONNECTION_LOST = "CONNECTION_LOST"
    TIMEOUT = "TIMEOUT"
    INVALID_REQUEST = "INVALID_REQUEST"
    METHOD_NOT_FOUND = "METHOD_NOT_FOUND"
    INVALID_PARAMS = "INVALID_PARAMS"
    EXECUTION_FAILED = "EXECUTION_FAILED"
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
    RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    RATE_LIMIT_EXCEEDED = "RATE_LIMIT_EXCEEDED"
    CANNOT_EXECUTE = "CANNOT_EXECUTE"
    MAX_RETRIES_EXCEEDED = "MAX_RETRIES_EXCEEDED"
    PARALLEL_EXECUTION_FAILED = "PARALLEL_EXECUTION_FAILED"
    DELIVERY_UNKNOWN = "DELIVERY_UNKNOWN"
    AMBIGUOUS_TOOL = "AMBIGUOUS_TOOL"


# What a later try may mend. What a server has answered is its answer.
PASSING = frozenset({Code.CONNECTION_FAILED, Code.CONNECTION_LOST, Code.TIMEOUT, Code.RATE_LIMIT_EXCEEDED})
_BEFOREHAND = frozenset({Code.INVALID_PARAMS, Code.TOOL_NOT_FOUND, Code.CANNOT_EXECUTE})


class HubError(Exception):
    """`delivered` is False only where the server has certainly not acted on the call; `unclear` where it got it and nobody
    can say what it has done with it. `missing` is true where what was named is not there."""

    def __init__(
        self,
        code: Code,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        delivered: bool = False,
        unclear: bool = False,
        retryable: bool | None = None,
        retry_after_seconds: float | None = None,
        missing: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = dict(details) if details else None
        self.delivered = delivered or unclear
        self.unclear = unclear
        self.retryable = code in PASSING if retryable is None else retryable
        self.retry_after_seconds = retry_after_seconds
        self.missing = missing or code in (Code.TOOL_NOT_FOUND, Code.RESOURCE_NOT_FOUND)

    @property
    def untried(self) -> bool:
        """Whether the call was refused before anything was asked of its server."""
        return not self.delivered and self.code in _BEFOREHAND


def unknown_server(name: str, known: Iterable[str]) -> HubError:
    """`known` are those that the caller may know of."""
    others = ", ".join(known)
    there = f"There are: {others}." if others else "There is none: `kumi hub add` adds one."
    return HubError(Code.INVALID_PARAMS, f"No server is called '{name}'. {there}", {"server": name}, missing=True)


class HubClosed(RuntimeError):
    def __init__(self, reason: str = "the hub is closed: open one with `async with Hub(...) as hub`") -> None:
        super().__init__(reason)


class HubElsewhere(HubClosed):
    def __init__(self) -> None:
        super().__init__(
            "the hub was used on another event loop, where its sessions are: use it within one `asyncio.run`, or open another hub"
        )
