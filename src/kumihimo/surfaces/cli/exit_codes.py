"""From error to exit code: the one table of this surface."""

from __future__ import annotations

from kumihimo.domain import errors

DONE = 0
FAILED = 1
BAD_ARGUMENT = 2
CONFIGURATION = 3
DATABASE = 4
NOT_FOUND = 5
WRONG_STATE = 6

# The first that fits, so a special case stands before its kind.
TABLE: tuple[tuple[type[errors.KumihimoError], int], ...] = (
    (errors.ConfigError, CONFIGURATION),
    (errors.StoreError, DATABASE),
    (errors.NotFound, NOT_FOUND),
    (errors.UpstreamNotFound, NOT_FOUND),
    (errors.GitError, NOT_FOUND),
    (errors.InvalidValue, BAD_ARGUMENT),
    (errors.WrongState, WRONG_STATE),
    (errors.Refused, FAILED),
)


def exit_code(error: errors.KumihimoError) -> int:
    return next((code for kind, code in TABLE if isinstance(error, kind)), FAILED)
