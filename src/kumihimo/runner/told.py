"""What happens in a Runner, as it is told to whoever watches it. No passkey and no token is ever among the facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Kind = Literal[
    "connected",  # version
    "unreachable",  # reason, seconds
    "refused",  # reason, seconds
    "ignored",  # agentId
    "homeless",  # projectId, directory
    "started",  # agentId, projectId, instanceId, client
    "adopted",  # agentId, projectId, instanceId, client
    "unstartable",  # agentId, projectId, instanceId, reason
    "hung",  # agentId, projectId, instanceId
    "ended",  # agentId, projectId, instanceId, exitCode, signal, reason
    "cooling",  # agentId, projectId, seconds
    "held",  # agentId, projectId, until
    "parked",  # client, until
    "unwritten",  # reason
    "delivered",  # instanceId
    "rejected",  # instanceId, reason
]
Fact = str | int | float | None
Tell = Callable[[Kind, dict[str, Fact]], None]
