"""What a token is asked for."""

from __future__ import annotations

from collections.abc import Iterable

from kumihimo.wire.client.authorization.challenge import Challenge
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.authorization.metadata import Found, ServerMetadata

OFFLINE = "offline_access"


def union(*several: Iterable[str]) -> tuple[str, ...]:
    """Each once, in the order of their coming."""
    return tuple(dict.fromkeys(scope for scopes in several for scope in scopes))


def wanted(configured: tuple[str, ...], challenge: Challenge, found: Found, known: Grant | None) -> tuple[str, ...]:
    """What the server asks for now, and what was had before; where it does not say, all that it has; or nothing, which
    leaves it to the authorization server."""
    before = union(known.scopes, known.missing) if known is not None else ()
    now = union(configured, challenge.scopes) or found.scopes or ()
    return union(before, now)


def lasting(scopes: tuple[str, ...], server: ServerMetadata) -> tuple[str, ...]:
    """With what makes the authorization server give a refresh token, where it has that."""
    offered = OFFLINE in (server.scopes_supported or ())
    return union(scopes, (OFFLINE,)) if scopes and offered else scopes
