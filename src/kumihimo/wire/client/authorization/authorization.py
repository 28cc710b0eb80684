"""What a carrier asks of whoever has the tokens for a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

# How often one request is sent again because it was refused.
MOST_REFUSALS = 3
# And how often because it did not look as it has to.
MOST_CORRECTIONS = 2


class Authorization(Protocol):
    """Shared by everything that talks to one server. `url` is where the token goes: it is given to no other origin."""

    async def token(self, url: str) -> str | None:
        """What to bring with a request, good for now; None where there is none yet. ClientError where one was to be had and
        could not be."""
        ...

    def lines(self, token: str, method: str, url: str) -> bytes:
        """The lines of a head that bring the token with this request, and with no other."""
        ...

    def learn(self, status: int, headers: Mapping[bytes, bytes]) -> bool:
        """Hear what an answer says of how the next request has to look. True where this one was refused for nothing else."""
        ...

    async def challenged(
        self, url: str, status: int, headers: Mapping[bytes, bytes], token: str | None, attempt: int
    ) -> bool:
        """After a 401 or 403: whether the request can be sent again, with what `token` says now.

        `headers` are those of the refusal with their names in lower case, `token` is what was sent, `attempt` counts
        the refusals of this request from 0. ClientError where a login is needed, or could not be had.
        """
        ...
