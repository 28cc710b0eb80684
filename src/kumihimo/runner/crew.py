"""The crew: the agents that this Runner may start, and which of them are to be left alone for now."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from kumihimo.engine.agents.client import Verdict
from kumihimo.runner.clock import Clock
from kumihimo.runner.pair import Pair
from kumihimo.runner.patience import Patience
from kumihimo.runner.told import Tell


class Crew:
    def __init__(self, passkeys: Mapping[str, str], patience: Patience, clock: Clock, tell: Tell) -> None:
        self._passkeys = dict(passkeys)
        self._patience = patience
        self._clock = clock
        self._tell = tell
        # Which CLI plays whom, as far as the server has said it.
        self._clients: dict[Pair, str] = {}

    def passkey(self, agent_id: str) -> str | None:
        return self._passkeys.get(agent_id)

    def learn(self, pair: Pair, client: str) -> None:
        self._clients[pair] = client

    def holds(self, pair: Pair, now: datetime) -> bool:
        return self._patience.holds(pair, self._clients.get(pair), now)

    def tell_if_held(self, pair: Pair) -> None:
        now = self._clock.now()
        until = self._patience.until(pair, self._clients.get(pair), now)
        if until > now:
            facts = {"agentId": pair.agent_id, "projectId": pair.project_id, "until": until.isoformat()}
            self._tell("held", {**facts})

    def failed(self, pair: Pair) -> None:
        seconds = self._patience.failed(pair, self._clock.now())
        self._tell("cooling", {"agentId": pair.agent_id, "projectId": pair.project_id, "seconds": seconds})
        self._keep()

    def note(self, pair: Pair, client: str, verdict: Verdict) -> None:
        """What came of an instance: a limit whose end is known parks its client, any other failure lets the pair cool down."""
        now = self._clock.now()
        reset = verdict.reset_at
        if reset is None and verdict.reset_after is not None:
            reset = now + timedelta(seconds=verdict.reset_after)
        if verdict.reason is None:
            self._patience.succeeded(pair)
            self._keep()
        elif verdict.reason == "rate_limited" and reset is not None and reset > now:
            until = self._patience.park(client, reset, now)
            self._tell("parked", {"client": client, "until": until.isoformat()})
            self._keep()
        else:
            self.failed(pair)

    def _keep(self) -> None:
        try:
            self._patience.keep()
        except OSError as error:
            # It is still known, until we end.
            self._tell("unwritten", {"reason": str(error)})
