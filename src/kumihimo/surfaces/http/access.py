"""Who may come in, and how far: the owner everywhere, a Runner to its calls, an instance or a run to its own work."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from msgspec import Struct

from kumihimo.domain.errors import TokenRefused
from kumihimo.domain.token import Token
from kumihimo.services.board import Board
from kumihimo.surfaces.http.cookies import Claim, Cookies
from kumihimo.surfaces.mcp.door import Door
from kumihimo.wire.http import Refusal

# Where each kind of token may go. An agent has its own work, and the hub of its project.
_OWN = frozenset({"worker", "hub"})
REACH = {"runner": frozenset({"runner"}), "instance": _OWN, "run": _OWN}
# What no token but the owner's opens.
_NOTHING_LESS = frozenset({"owner"})
_UNAUTHORIZED = Refusal(401, "a bearer token is needed")
_FORBIDDEN = Refusal(403, "this token does not open this", ())
_FOREIGN = Refusal(403, "the dashboard's cookie is good for the dashboard alone", ())


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
    """The owner is who has the token of this home, which is known here, or of any other home of the board."""

    def __init__(self, door: Door, owner: str) -> None:
        self._door = door
        self._owner = owner.encode()
        self.host = door.host
        self.cookies = Cookies(owner, self.host)
        self._key: bytes | None = None

    def board_key(self, board: Board) -> bytes:
        """What doors of the board sign with. It stays the same, and is asked for once."""
        if self._key is None:
            self._key = board.tokens.signing_key()
        return self._key

    def identify(self, scope: Any, toolsets: frozenset[str]) -> Any:
        """The identity behind a request for these toolsets, a Refusal, or a coroutine that answers one of them."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        secret = bearer(headers)
        if not secret:
            if b"cookie" in headers and b"authorization" not in headers:
                return self._of_page(scope, headers)
            return _UNAUTHORIZED
        if hmac.compare_digest(secret, self._owner):
            return _owner(scope)
        return self._door.perform_reading(lambda board: self._known(board, secret, toolsets, scope))

    def is_owner(self, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request has the token of this home, which is the same for as long as this process lives."""
        return hmac.compare_digest(bearer(headers), self._owner)

    def _of_page(self, scope: Any, headers: dict[bytes, bytes]) -> Any:
        """The owner, by the dashboard's cookie. Browsers send it along whoever asks on this machine: so it counts only for
        requests that come from the page itself."""
        own = self.cookies.admits(headers[b"cookie"])
        claims = [] if own else self.cookies.claims(headers[b"cookie"])
        if not own and not claims:
            return _UNAUTHORIZED
        if not same_origin(scope.get("scheme", "http"), headers):
            return _FOREIGN
        if own:
            return _owner(scope)
        return self._door.perform_reading(
            lambda board: _owner(scope) if any(self._vouched(board, it) for it in claims) else _UNAUTHORIZED
        )

    async def cookie_names(self, scope: Any) -> list[str]:
        """By which names a browser has cookies that this door lets in, and that of this home."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        claims = self.cookies.claims(headers.get(b"cookie", b""))
        found: list[str] = []
        if claims:
            found = await self._door.elsewhere(lambda board: [it.name for it in claims if self._vouched(board, it)])
        return [self.cookies.name, *found]

    async def owner_alone(self, scope: Any) -> Refusal | None:
        """None for the owner; who comes with a token for less is told that it is for less."""
        found = self.identify(scope, _NOTHING_LESS)
        if hasattr(found, "__await__"):
            found = await found
        return found if isinstance(found, Refusal) else None

    def _vouched(self, board: Board, claim: Claim) -> bool:
        """Whether the home that has given it is one of the board's, and its owner's token is still the same."""
        home = board.tokens.home(claim.host)
        return home is not None and claim.is_good(self.board_key(board), home.token_hash or "")

    def _known(self, board: Board, secret: bytes, toolsets: frozenset[str], scope: Any) -> Identity | Refusal:
        told = secret.decode("latin-1")
        try:
            token = board.tokens.read(told)
        except TokenRefused:
            return _owner(scope) if board.tokens.owners_home(told) is not None else _UNAUTHORIZED
        exposed = asked(scope, "expose") == "all"
        return Identity(token, None, exposed) if toolsets <= REACH[token.kind] else _FORBIDDEN


def bearer(headers: Mapping[bytes, bytes]) -> bytes:
    """The token that a request comes with; empty where it has none."""
    scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
    return secret.strip() if scheme.lower() == b"bearer" else b""


def _owner(scope: Any) -> Identity:
    return Identity(None, asked(scope, "project"), asked(scope, "expose") == "all")


def same_origin(scheme: str, headers: dict[bytes, bytes]) -> bool:
    """Whether a request comes from a page of this very server, or from no page at all. Another port of the same machine
    is another server."""
    site = headers.get(b"sec-fetch-site")
    if site is not None and site not in (b"same-origin", b"none"):
        return False
    origin = headers.get(b"origin")
    own = (b"https://" if scheme in ("https", "wss") else b"http://") + headers.get(b"host", b"")
    return origin is None or origin.lower() == own.lower()


def asked(scope: Any, name: str) -> str | None:
    """A value of the query."""
    query = scope.get("query_string", b"")
    found = parse_qs(query.decode("latin-1")).get(name) if query else None
    return found[0] if found else None
