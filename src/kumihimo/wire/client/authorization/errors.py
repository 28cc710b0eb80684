"""Why there is no token.

Refused                     (of the client: an HTTP status instead of an answer)
└── AuthorizationFailed     no token could be had: somebody broke the rules, or said no
    ├── LoginNeeded         a person has to log in first
    └── TokenRefused        the authorization server answered with an error, `code`

Where somebody could not be reached it is the client's ConnectionFailed: a later try may help. A message never holds a
token, a secret or a code.
"""

from __future__ import annotations

from kumihimo.wire.client.errors import Refused

_LONGEST = 200


class AuthorizationFailed(Refused):
    def __init__(self, reason: str, *, status: int = 401) -> None:
        super().__init__(status, reason)


class LoginNeeded(AuthorizationFailed):
    """`scopes` is what the server misses, where it has said so."""

    def __init__(
        self, reason: str = "the server wants a login", *, status: int = 401, scopes: tuple[str, ...] = ()
    ) -> None:
        missing = told(" ".join(scopes))
        super().__init__(f"{reason}{f' for {missing}' if missing else ''}", status=status)
        self.scopes = scopes


class TokenRefused(AuthorizationFailed):
    def __init__(self, code: str, description: str = "") -> None:
        super().__init__(f"the authorization server says {told(code)}{f': {told(description)}' if description else ''}")
        self.code = code


def told(text: str) -> str:
    """What somebody else has written, fit for a message of ours."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text[:_LONGEST])
    return shown if len(text) <= _LONGEST else f"{shown}…"
