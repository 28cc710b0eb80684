"""The one table from what the wire tells to a code of the hub."""

from __future__ import annotations

from typing import Any

from kumihimo.hub.errors import Code, HubError
from kumihimo.wire.client.authorization.errors import LoginNeeded
from kumihimo.wire.client.errors import BadAnswer, ClientError, ConnectionFailed, ConnectionLost, Refused, TimedOut
from kumihimo.wire.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    OLD_RESOURCE_NOT_FOUND,
    PARSE_ERROR,
    RpcError,
)

_ANSWERED = {
    PARSE_ERROR: Code.INVALID_REQUEST,
    INVALID_REQUEST: Code.INVALID_REQUEST,
    METHOD_NOT_FOUND: Code.METHOD_NOT_FOUND,
    INVALID_PARAMS: Code.INVALID_PARAMS,
    OLD_RESOURCE_NOT_FOUND: Code.RESOURCE_NOT_FOUND,
}
_REFUSED = {401: Code.PERMISSION_DENIED, 403: Code.PERMISSION_DENIED, 429: Code.RATE_LIMIT_EXCEEDED}

# What passes by itself. Who answers with another status, as at an address where there is no such server, will again.
_PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


def fault(error: ClientError | RpcError, server: str) -> HubError:
    """What became of a call to a server."""
    if isinstance(error, RpcError):
        details = {"server": server, "code": error.code, **({} if error.data is None else {"data": error.data})}
        code = _ANSWERED.get(error.code, Code.EXECUTION_FAILED)
        return HubError(code, f"{server}: {error.message}", details, delivered=True)
    login = f". Log in with `kumi hub login {server}`." if isinstance(error, LoginNeeded) else ""
    wait = error.retry_after_seconds if isinstance(error, Refused) else None
    details: dict[str, Any] = {"server": server}
    if isinstance(error, Refused):
        details["status"] = error.status
    if wait is not None:
        details["retryAfterMs"] = round(wait * 1000)
    return HubError(
        _code(error),
        f"{server}: {error.reason}{login}",
        details,
        unclear=error.delivered,
        retry_after_seconds=wait,
    )


def unreachable(error: ClientError | RpcError, server: str) -> HubError:
    """Why there is no session with a server. Whatever was said meanwhile, no call was."""
    told = fault(error, server)
    code = told.code if told.code in (Code.PERMISSION_DENIED, Code.RATE_LIMIT_EXCEEDED) else Code.CONNECTION_FAILED
    final = error.final if isinstance(error, ConnectionFailed) else _stays(error)
    return HubError(
        code,
        told.message,
        told.details,
        retryable=False if final else None,
        retry_after_seconds=told.retry_after_seconds,
    )


def _stays(error: ClientError | RpcError) -> bool:
    return isinstance(error, Refused) and error.status not in _PASSING_STATUSES


def _code(error: ClientError) -> Code:
    match error:
        case Refused():
            # A server that fails may have acted before; any other refusal says that it has not.
            return _REFUSED.get(error.status, Code.CONNECTION_LOST if error.delivered else Code.INVALID_REQUEST)
        case TimedOut():
            return Code.TIMEOUT
        case BadAnswer():
            return Code.EXECUTION_FAILED
        case ConnectionFailed():
            return Code.CONNECTION_FAILED
        case ConnectionLost():
            return Code.CONNECTION_LOST if error.delivered else Code.CONNECTION_FAILED
        case _:
            return Code.CONNECTION_LOST
