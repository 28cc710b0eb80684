"""JSON-RPC errors that a handler or the protocol itself may raise.

RpcError
├── ParseError                 -32700
├── InvalidRequest             -32600
├── MethodNotFound             -32601
├── InvalidParams              -32602
│   └── ResourceNotFound       -32602; -32002 up to 2025-11-25
├── InternalError              -32603
├── HeaderMismatch             -32020
├── MissingCapability          -32021
└── UnsupportedVersion         -32022
"""

from collections.abc import Mapping
from typing import Any, Final

from kumihimo.wire.revision import SUPPORTED

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
OLD_RESOURCE_NOT_FOUND: Final = -32002


class RpcError(Exception):
    """Answered to the client as a JSON-RPC error with this code, message and data."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ParseError(RpcError):
    def __init__(self, reason: str) -> None:
        super().__init__(PARSE_ERROR, f"Parse error: {reason}")


class InvalidRequest(RpcError):
    def __init__(self, reason: str) -> None:
        super().__init__(INVALID_REQUEST, f"Invalid request: {reason}")


class MethodNotFound(RpcError):
    def __init__(self, method: str) -> None:
        super().__init__(METHOD_NOT_FOUND, f"Unknown method: {method[:200]}")


class InvalidParams(RpcError):
    def __init__(self, reason: str, data: Any = None) -> None:
        super().__init__(INVALID_PARAMS, reason, data)


class ResourceNotFound(InvalidParams):
    def __init__(self, uri: str) -> None:
        super().__init__(f"Resource not found: {uri[:500]}", {"uri": uri})


class InternalError(RpcError):
    def __init__(self, reason: str = "Internal error") -> None:
        super().__init__(INTERNAL_ERROR, reason)


class HeaderMismatch(RpcError):
    def __init__(self, reason: str) -> None:
        super().__init__(HEADER_MISMATCH, f"Header mismatch: {reason}")


class MissingCapability(RpcError):
    """The client did not declare what this request needs, e.g. `MissingCapability({"elicitation": {}})`."""

    def __init__(self, required: Mapping[str, Any]) -> None:
        names = ", ".join(required)
        super().__init__(
            MISSING_CAPABILITY,
            f"Missing required client capability: {names}",
            {"requiredCapabilities": dict(required)},
        )


class UnsupportedVersion(RpcError):
    def __init__(self, requested: str) -> None:
        super().__init__(
            UNSUPPORTED_VERSION,
            "Unsupported protocol version",
            {"supported": list(SUPPORTED), "requested": requested},
        )
