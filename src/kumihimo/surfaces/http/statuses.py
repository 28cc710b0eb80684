"""From error to HTTP status: the one table of this surface."""

from __future__ import annotations

from kumihimo.domain import errors

# The first that fits, so a special case stands before its kind.
TABLE: tuple[tuple[type[errors.KumihimoError], int], ...] = (
    (errors.NotFound, 404),
    (errors.InvalidValue, 400),
    (errors.WrongState, 409),
    (errors.TokenRefused, 401),
    (errors.UpstreamRefused, 502),
    (errors.Refused, 403),
    (errors.StoreError, 503),
    (errors.GitError, 409),
    (errors.ConfigError, 409),
)
# What any of them may answer besides 200, for the description of the API.
EVERY = (400, 401, 403, 404, 405, 409, 413, 415, 502, 503)


def status_of(error: errors.KumihimoError) -> int:
    return next((status for kind, status in TABLE if isinstance(error, kind)), 400)
