"""A call whose answer is taken in the moment that it comes: nobody waits for it, so it needs no task."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Raw

from kumihimo.wire.client.allowance import Allowance
from kumihimo.wire.client.call import Call, OnProgress, OnRequest
from kumihimo.wire.client.carrier import Carrier
from kumihimo.wire.client.dialogue import Dialogue
from kumihimo.wire.client.errors import TimedOut

Take = Callable[["Raw | Exception"], None]
"""Hears the result as it came, or an RpcError or ClientError in its place; once, and not after `cancel`."""


class Relayed(Call):
    """Under way from the moment that it is made. `take` must not raise: it is called where other answers are read."""

    __slots__ = ("_carrier", "_dialogue", "_take")

    def __init__(
        self,
        dialogue: Dialogue,
        carrier: Carrier,
        allowance: Allowance,
        take: Take,
        on_progress: OnProgress | None = None,
        on_input: OnRequest | None = None,
    ) -> None:
        super().__init__(dialogue.next_number(), "tools/call", on_progress, on_input)
        self._dialogue = dialogue
        self._carrier = carrier
        self._take: Take | None = take
        self.allowance = allowance
        dialogue.calls[self.id] = self

    def send(self, body: bytes) -> None:
        """To be called where the carrier is ready."""
        self.body = body
        self.allowance.begin(self.expire)
        self.sent = True
        self._carrier.post(body)

    @property
    def over(self) -> bool:
        return self._take is None

    def settle(self, result: Raw) -> None:
        take = self._take
        if take is not None:
            self._end()
            take(result)

    def fail(self, error: Exception) -> None:
        take = self._take
        if take is not None:
            self._end()
            if isinstance(error, TimedOut):
                self._carrier.abandon(self)
            take(error)

    def cancel(self) -> None:
        """Whoever wanted it has gone: the server is told so."""
        if self._take is not None:
            self._end()
            self._carrier.abandon(self)

    def _end(self) -> None:
        # Who takes it knows it in turn: so neither has to be looked for as garbage.
        self._take = None
        self.allowance.end()
        self._dialogue.close(self)
