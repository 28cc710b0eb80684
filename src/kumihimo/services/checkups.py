"""Checkups: whether the program behind an agent is there, what it is, and whether it answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from kumihimo.domain.agent import Agent
from kumihimo.domain.health import Health
from kumihimo.services.board import Board
from kumihimo.services.definitions import defined
from kumihimo.settings import Client, Settings


def check(agent: Agent, settings: Settings, clock: Callable[[], datetime]) -> Health:
    """Ask it something, and see what comes of it. This may use some tokens."""
    from kumihimo.engine.agents import health, registry

    client = registry.find(agent.client)
    own = settings.clients.get(agent.client, Client())
    program = health.find_program(client, own)
    now = clock()
    if program is None:
        return Health(agent.id, "failed", health.why_missing(client, own), checked_at=now)
    version = health.version(client, own)
    model = health.models(client, own, agent.model)
    definition = settings.agents.get(agent.name)
    asked = health.prompt_check(
        client, own, (definition.health_check_prompt if definition else None) or health.PROMPT, agent.model
    )
    said = f"{agent.client} does not know the model {agent.model}" if model == "invalid" else None
    return Health(
        agent.id,
        "passed" if asked.status == "passed" else "failed",
        None if asked.status == "passed" else f"{asked.reason}: {asked.message or 'no answer'}",
        asked.response_time_ms,
        clock(),
        model,
        said,
        now if agent.model else None,
        program,
        version,
    )


def glance(agent: Agent, known: Health, settings: Settings, clock: Callable[[], datetime]) -> Health | None:
    """Is its program there, and which version is it? Costs no token. None where nothing is new."""
    # The rooms of the CLIs are loaded by who looks at one: doors only ask whether any is missing.
    from kumihimo.engine.agents import health, registry

    own = settings.clients.get(agent.client, Client())
    client = registry.find(agent.client)
    program = health.find_program(client, own)
    if program is None:
        missing = Health(agent.id, "failed", health.why_missing(client, own), checked_at=clock())
        return missing if (known.status, known.reason) != (missing.status, missing.reason) else None
    was_missing = known.status == "failed" and known.program is None
    if program == known.program and known.version is not None:
        return None
    version = health.version(client, own)
    if was_missing or known.checked_at is None:
        return Health(agent.id, program=program, version=version)
    return replace(known, program=program, version=version)


def look_again(board: Board, settings: Settings, names: set[str]) -> None:
    """Programs that were missing when they were last looked for may have been installed since."""
    if not board.hosts.any_missing(names):
        return
    for agent, known in board.hosts.health():
        if agent.name in names and known.status == "failed" and known.program is None:
            found = glance(defined(agent, settings), known, settings, board.clock)
            if found is not None:
                board.hosts.note_health(found)
