"""How long those who look through the lists of all servers wait for the ones that are late."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

SECONDS = 5.0


class Settling(NamedTuple):
    """In seconds; None is as long as each server may take by its own timeout. `listing` is for who wants the lists
    themselves; `naming` for who has named a tool, a prompt or a resource and not its server, where somebody has it, and
    `missing` where nobody has as yet. `tell` hears once who is waited for, where that takes long."""

    listing: float | None
    naming: float
    missing: float | None
    tell: Callable[[list[str]], None] | None = None


# A program that asks for the tools wants all of them; a call must not be slow because of a server that it does not need.
PROGRAM = Settling(None, SECONDS, SECONDS)
# An agent can ask again, and is told which servers are missing.
AGENTS = Settling(SECONDS, SECONDS, SECONDS)
# A command has its own hub: a server that is too slow for it now would be so each time.
COMMAND = Settling(None, SECONDS, None)
