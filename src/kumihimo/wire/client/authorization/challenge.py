"""What a server says with a 401 or 403: `WWW-Authenticate`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

_LONGEST = 8192
# A word; and where it is the name of a parameter, its value, quoted or not.
_WORD = re.compile(r"""[\s,]*([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?""", re.ASCII)


class Challenge(Struct, frozen=True):
    """`bearer` is False where the server asks for something, and a bearer token is not it."""

    bearer: bool = True
    resource_metadata: str | None = None
    scopes: tuple[str, ...] = ()
    error: str | None = None


def challenge_of(headers: Mapping[bytes, bytes]) -> Challenge:
    """A server may say nothing at all; then it is found out by other means what it wants."""
    text = headers.get(b"www-authenticate", b"")[:_LONGEST].decode("latin-1")
    if not text.strip():
        return Challenge()
    parameters: dict[str, str] | None = None
    for name, quoted, plain in _WORD.findall(text):
        if not quoted and not plain:
            if parameters is not None:
                break
            if name.lower() == "bearer":
                parameters = {}
        elif parameters is not None:
            parameters.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
    if parameters is None:
        return Challenge(bearer=False)
    return Challenge(
        resource_metadata=parameters.get("resource_metadata"),
        scopes=tuple(parameters.get("scope", "").split()),
        error=parameters.get("error"),
    )
