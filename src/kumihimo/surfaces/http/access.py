"""Who may come in, and how far: the owner everywhere, a Runner to its calls, an instance or a run to its own work."""

from __future__ import annotations

import hmac
import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from msgspec import Struct

from kumihimo.domain.errors import TokenRefused
from kumihimo.domain.token import Token
from kumihimo.surfaces.mcp.door import Door
from kumihimo.wire.http import Refusal

# Where each kind of token may go. An agent has its own work, and the hub of its project.
_OWN = frozenset({"worker", "hub"})
REACH = {"runner": frozenset({"runner"}), "instance": _OWN, "run": _OWN}
# What no token but the owner's opens.
_NOTHING_LESS = frozenset({"owner"})
_UNAUTHORIZED = Refusal(401, "a bearer token is needed")
_FORBIDDEN = Refusal(403, "this token does not open this", ())


class Identity(Struct, frozen=True):
    """Who a request is from. The owner has no token of the board; `project` is what the URL asks for."""

    token: Token | None = None
    project: str | None = None
    expose: bool = False

    @property
    def subject(self) -> str:
        """What a session is bound to: one caller can't use another's."""
        it = self.token
        return "owner" if it is None else f"{it.kind}:{it.instance_id or it.execution_id or ''}"


def owner_token(path: Path) -> str:
    """The owner's token, made at the first start, in a file that only the owner can read."""
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
    try:
        # A link fails where another process was first; then its token is the owner's.
        os.link(fresh, path)
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    return path.read_text("ascii").strip()


class Access:
    def __init__(self, door: Door, owner: str) -> None:
        self._door = door
        self._owner = owner.encode()

    def identify(self, scope: Any, toolsets: frozenset[str]) -> Any:
        """The identity behind a request for these toolsets, a Refusal, or a coroutine that answers one of them."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not secret:
            return _UNAUTHORIZED
        if hmac.compare_digest(secret.strip(), self._owner):
            return Identity(None, asked(scope, "project"), asked(scope, "expose") == "all")
        exposed = b"expose=" in scope.get("query_string", b"") and asked(scope, "expose") == "all"
        return self._door.perform_reading(lambda board: self._limited(board, secret, toolsets, exposed))

    async def owner_alone(self, scope: Any) -> Refusal | None:
        """None for the owner; who comes with a token for less is told that it is for less."""
        found = self.identify(scope, _NOTHING_LESS)
        if hasattr(found, "__await__"):
            found = await found
        return found if isinstance(found, Refusal) else None

    def _limited(self, board: Any, secret: bytes, toolsets: frozenset[str], exposed: bool) -> Identity | Refusal:
        try:
            token = board.tokens.read(secret.strip().decode("latin-1"))
        except TokenRefused:
            return _UNAUTHORIZED
        return Identity(token, None, exposed) if toolsets <= REACH[token.kind] else _FORBIDDEN


def asked(scope: Any, name: str) -> str | None:
    """A value of the query."""
    query = scope.get("query_string", b"")
    found = parse_qs(query.decode("latin-1")).get(name) if query else None
    return found[0] if found else None
