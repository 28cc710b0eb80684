"""The dashboard's cookie: signed, so that no door has to remember it, and good at every door of the board.

It names the home that gave it and is signed twice: with what follows from the token of that home's owner, which that home
alone can check, and with the key of the board and the hash of that token, which any other home of the board can.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time

from msgspec import Struct

LIFETIME_SECONDS = 30 * 24 * 3600
_PREFIX = b"kumi_"
# More than that is nobody's browser.
_MOST_FOREIGN = 8


class Claim(Struct, frozen=True):
    """A cookie of another home, which that home's row on the board can vouch for."""

    name: str
    host: str
    said: str
    signature: str

    def is_good(self, key: bytes, token_hash: str) -> bool:
        """`key` is the board's."""
        return hmac.compare_digest(self.signature.encode("latin-1"), _shared(key, token_hash, self.said).encode())


class Cookies:
    """Of one home. A new owner's token makes every cookie that it has given worthless."""

    def __init__(self, owner_token: str, host: str = "") -> None:
        self._key = hmac.digest(owner_token.encode(), b"the dashboard's cookie", "sha256")
        self._token_hash = hashlib.sha256(owner_token.encode()).hexdigest()
        self._host = host
        # Ports share their cookies: two homes on one machine must not overwrite each other's.
        self.name = f"kumi_{hashlib.sha256(self._key).hexdigest()[:12]}"

    def header(self, *, secure: bool, board_key: bytes = b"") -> bytes:
        """What a browser is given."""
        expires = int(time.time()) + LIFETIME_SECONDS
        said = f"{expires}.{secrets.token_urlsafe(12)}.{self._host}"
        told = f"{said}.{_shared(board_key, self._token_hash, said)}"
        parts = [f"{self.name}={told}.{self._signature(told)}", f"Max-Age={LIFETIME_SECONDS}"]
        return "; ".join([*parts, *_ways(secure)]).encode()

    def admits(self, header: bytes) -> bool:
        """Whether a Cookie header has one of this home that is still good."""
        return any(name == self.name and self._good(value) for name, value in _ours(header))

    def claims(self, header: bytes) -> list[Claim]:
        """Those of other homes."""
        found: list[Claim] = []
        for name, value in _ours(header):
            parts = value.split(".")
            if name != self.name and len(parts) == 5 and parts[2] != self._host and _lasts(parts[0]):
                found.append(Claim(name, parts[2], ".".join(parts[:3]), parts[3]))
        return found[:_MOST_FOREIGN]

    def _good(self, value: str) -> bool:
        told, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode("latin-1"), self._signature(told).encode()):
            return False
        return _lasts(told.partition(".")[0])

    def _signature(self, told: str) -> str:
        return _encoded(hmac.digest(self._key, told.encode(), "sha256"))


def removal(name: str, *, secure: bool) -> bytes:
    return "; ".join([f"{name}=", "Max-Age=0", *_ways(secure)]).encode()


def _ours(header: bytes) -> list[tuple[str, str]]:
    """The names and values of cookies that a home may have given."""
    found: list[tuple[str, str]] = []
    for part in header.split(b";"):
        name, _, value = part.strip().partition(b"=")
        if name.startswith(_PREFIX):
            found.append((name.decode("latin-1"), value.decode("latin-1")))
    return found


def _shared(key: bytes, token_hash: str, said: str) -> str:
    own = hmac.digest(key, b"the dashboard's cookie\0" + token_hash.encode(), "sha256")
    return _encoded(hmac.digest(own, said.encode("latin-1", "replace"), "sha256"))


def _lasts(expires: str) -> bool:
    return expires.isascii() and expires.isdigit() and int(expires) > time.time()


def _encoded(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _ways(secure: bool) -> list[str]:
    return ["Path=/", "HttpOnly", "SameSite=Strict", *(["Secure"] if secure else [])]
