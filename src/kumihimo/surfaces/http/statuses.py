"""From error to HTTP status: the one table of this surface."""

from __future__ import annotations

from kumihimo.domain import errors

# The first that fits, so a special case stands before its kind.
TABLE: tuple[tuple[type[errors.KumihimoError], int], ...] = (
    (errors.NotFound, 404),
    (errors.InvalidValue, 400),
    (errors.ArtifactAway, 503),
    (errors.WrongState, 409),
    (errors.TokenRefused, 401),
    (errors.UpstreamRefused, 502),
    (errors.Refused, 403),
    (errors.StoreNotEmpty, 409),
    (errors.StoreError, 503),
    (errors.GitError, 409),
    (errors.ConfigError, 409),
)
# What the hub has said no to before anything was asked of a server is no fault of a server's. Anything else is 502.
UPSTREAM: dict[str, int] = {
    "TOOL_NOT_FOUND": 404,
    "RESOURCE_NOT_FOUND": 404,
    "METHOD_NOT_FOUND": 404,
    "INVALID_PARAMS": 400,
    "INVALID_REQUEST": 400,
    "AMBIGUOUS_TOOL": 400,
    "PERMISSION_DENIED": 403,
    "CANNOT_EXECUTE": 409,
    "RATE_LIMIT_EXCEEDED": 429,
}
# What any of them may answer besides 200, for the description of the API.
EVERY = (400, 401, 403, 404, 405, 409, 413, 415, 429, 502, 503)


def status_of(error: errors.KumihimoError) -> int:
    told = UPSTREAM.get(str(error.facts.get("upstream_code")))
    if told is not None:
        return told
    return next((status for kind, status in TABLE if isinstance(error, kind)), 400)
