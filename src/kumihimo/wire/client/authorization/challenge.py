"""What a server says with a 401 or 403: `WWW-Authenticate`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

_LONGEST = 8192
_SCHEMES = ("bearer", "dpop")
# A word; and where it is the name of a parameter, its value, quoted or not.
_WORD = re.compile(r"""([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?""", re.ASCII)


class Challenge(Struct, frozen=True):
    """`token` is False where the server asks for something, and a token is not it; `bound` where it has to be one that is
    bound to a key."""

    token: bool = True
    bound: bool = False
    resource_metadata: str | None = None
    scopes: tuple[str, ...] = ()
    error: str | None = None


def challenge_of(headers: Mapping[bytes, bytes]) -> Challenge:
    """A server may say nothing at all; then it is found out by other means what it wants."""
    text = headers.get(b"www-authenticate", b"")[:_LONGEST].decode("latin-1")
    if not text.strip():
        return Challenge()
    asked: dict[str, dict[str, str]] = {}
    parameters: dict[str, str] = {}
    for name, quoted, plain in _WORD.findall(text):
        if quoted or plain:
            parameters.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or plain)
        else:
            parameters = {}
            asked.setdefault(name.lower(), parameters)
    for scheme in _SCHEMES:
        if (said := asked.get(scheme)) is not None:
            return Challenge(
                bound=scheme != _SCHEMES[0],
                resource_metadata=said.get("resource_metadata"),
                scopes=tuple(said.get("scope", "").split()),
                error=said.get("error"),
            )
    return Challenge(token=False)
