"""Tokens for less than everything: given once in clear, stored as a hash, looked up in constant time."""

from __future__ import annotations

import hmac

from kumihimo.domain.errors import TokenRefused
from kumihimo.domain.token import PREFIXES, Token
from kumihimo.services.service import Service, command, query
from kumihimo.services.sessions import hash_of
from kumihimo.store.store import Transaction


class Tokens(Service):
    @command
    def issue(self, transaction: Transaction, token: Token) -> str:
        """A new token for this. It is answered now and never again."""
        secret = self.identifiers.secret(PREFIXES[token.kind])
        transaction.tokens.add(hash_of(secret), token, self.clock())
        return secret

    @query
    def read(self, transaction: Transaction, secret: str) -> Token:
        """What a token opens. TokenRefused for one that is unknown or revoked."""
        wanted = hash_of(secret)
        found = transaction.tokens.with_hash(wanted)
        if found is None or not hmac.compare_digest(found[1], wanted):
            raise TokenRefused
        return found[0]

    @command
    def signing_key(self, transaction: Transaction) -> bytes:
        """The key with which every door of this board signs what it hands out, so that any other accepts it."""
        return hash_of(transaction.meta.keep_first("signing_key", self.identifiers.secret())).encode()
