"""A token with all that is needed to use and to renew it: what is kept of a login."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.wire.client.authorization.client import Client, PrivateKey

# A token is renewed before it is used where it ends within that time, or that part of its life.
MARGIN_SECONDS = 60.0
MARGIN = 0.1


class Grant(Struct, frozen=True, kw_only=True):
    """`scopes` is what was asked for, `missing` what a server has asked for since, with nobody there to agree. `key` is what the
    tokens are bound to, None where whoever has one may use it."""

    access_token: str
    issuer: str
    token_endpoint: str
    client: Client
    resource: str
    scopes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    refresh_token: str | None = None
    key: PrivateKey | None = None
    # None where the authorization server did not say.
    expires_at: float | None = None
    renew_at: float | None = None

    def __repr__(self) -> str:
        return f"Grant(of {self.issuer!r} for {self.resource!r})"

    def lasting(self, seconds: float | None, now: float) -> Grant:
        """The grant whose token is good for that long."""
        if seconds is None:
            return replace(self, expires_at=None, renew_at=None)
        return replace(self, expires_at=now + seconds, renew_at=now + seconds - min(MARGIN_SECONDS, seconds * MARGIN))

    def ends_soon(self, now: float) -> bool:
        return self.renew_at is not None and now >= self.renew_at

    def ended(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at
