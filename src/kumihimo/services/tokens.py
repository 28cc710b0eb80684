"""Tokens for less than everything: given once in clear, stored as a hash, looked up in constant time."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from kumihimo.domain.errors import TokenRefused
from kumihimo.domain.host import Host
from kumihimo.domain.token import PREFIXES, Token
from kumihimo.services.service import Service, command, query
from kumihimo.services.sessions import hash_of
from kumihimo.store.store import Transaction

# The token of a home that nobody has heard of for longer opens no other door: it may have been given away since.
HEARD_OF = timedelta(days=1)


class Tokens(Service):
    @command
    def issue(self, transaction: Transaction, token: Token) -> str:
        """A new token for this. It is answered now and never again."""
        return self._issue(transaction, [token])[0]

    @command
    def issue_all(self, transaction: Transaction, tokens: Sequence[Token]) -> list[str]:
        """As `issue`, for each of these."""
        return self._issue(transaction, tokens)

    def _issue(self, transaction: Transaction, tokens: Sequence[Token]) -> list[str]:
        secrets = [self.identifiers.secret(PREFIXES[token.kind]) for token in tokens]
        transaction.tokens.add_all([*zip(map(hash_of, secrets), tokens, strict=True)], self.clock())
        return secrets

    @query
    def read(self, transaction: Transaction, secret: str) -> Token:
        """What a token opens. TokenRefused for one that is unknown or revoked."""
        wanted = hash_of(secret)
        found = transaction.tokens.with_hash(wanted)
        if found is None or not hmac.compare_digest(found[1], wanted):
            raise TokenRefused
        return found[0]

    @query
    def owners_home(self, transaction: Transaction, secret: str) -> Host | None:
        """The home whose owner has this token: who owns one of the homes of a board owns the board."""
        wanted = hash_of(secret)
        found = transaction.hosts.with_token(wanted)
        if found is None or not hmac.compare_digest(found.token_hash or "", wanted):
            return None
        return found if self._is_heard_of(found) else None

    @query
    def home(self, transaction: Transaction, host_id: str) -> Host | None:
        """A home of the board whose owner is known, if it was heard of lately."""
        found = transaction.hosts.get(host_id)
        return found if found is not None and found.token_hash and self._is_heard_of(found) else None

    def _is_heard_of(self, host: Host) -> bool:
        return host.lease_until + HEARD_OF > self.clock()

    @command
    def signing_key(self, transaction: Transaction) -> bytes:
        """The key with which every door of this board signs what it hands out, so that any other accepts it."""
        return hash_of(transaction.meta.keep_first("signing_key", self.identifiers.secret())).encode()


def owner_hash(file: Path) -> str | None:
    """Of the owner's token of a home, as it is now."""
    try:
        return hash_of(file.read_text("ascii").strip())
    except FileNotFoundError:
        return None
