"""What can become of a call besides an answer.

ClientError
├── ConnectionFailed      nobody could be reached; nothing was sent
├── ConnectionLost        the way to the server is gone; `delivered` says whether the call may have arrived
│   └── BadAnswer         something came back that is no answer
├── Refused               an HTTP status instead of an answer
│   └── SessionGone       the server does not know our session any more
└── TimedOut              no answer in time; the server was told that none is wanted any more

An error that the server answers is an `RpcError` of `kumihimo.wire.errors`. `delivered` is False only where it is certain
that the server has not acted on the call: only then may a call that changes something be sent again.
"""

from __future__ import annotations


class ClientError(Exception):
    def __init__(self, reason: str, *, delivered: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.delivered = delivered


class ConnectionFailed(ClientError):
    """`final` where it will be so the next time as well, unless somebody mends something."""

    def __init__(self, reason: str, *, final: bool = False) -> None:
        super().__init__(reason, delivered=False)
        self.final = final


class ConnectionLost(ClientError):
    pass


class BadAnswer(ConnectionLost):
    def __init__(self, reason: str) -> None:
        super().__init__(reason, delivered=True)


class Refused(ClientError):
    """A server that fails (5xx) may have acted on the call before it did. `retry_after_seconds` is when it wants to be asked
    again, where it has said so."""

    def __init__(self, status: int, reason: str = "", *, retry_after_seconds: float | None = None) -> None:
        super().__init__(f"HTTP {status}{': ' if reason else ''}{reason}", delivered=status >= 500)
        self.status = status
        # What stands in it besides the status.
        self.said = reason
        self.retry_after_seconds = retry_after_seconds


class SessionGone(Refused):
    """`instead` is what it means where the session is one that the server knows for certain: not every status tells."""

    def __init__(self, status: int, reason: str = "", *, instead: Exception | None = None) -> None:
        super().__init__(status, reason)
        self.instead = instead


class TimedOut(ClientError):
    def __init__(self, seconds: float, *, delivered: bool) -> None:
        super().__init__(f"no answer within {seconds:g} s", delivered=delivered)
        self.seconds = seconds
