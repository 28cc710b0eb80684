"""Roles: agents as a lead sees them, with what is known about the program behind each."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import AgentNotFound
from kumihimo.domain.health import Health
from kumihimo.operations.operation import Arguments, Call, Nothing, operation
from kumihimo.services.checkups import check as check_up
from kumihimo.services.definitions import defined, newcomers, welcome


class Role(Struct, frozen=True):
    agent: Agent
    health: Health


class CheckRoles(Arguments, frozen=True):
    agent: Annotated[str | None, Meta(description="An agent: its name or id; every active one if left out.")] = None


@operation("role.list", Nothing, list[Role], reads=True)
def list_(call: Call, _: Nothing) -> list[Role]:
    """The roles that can be given work: who they are, what plays them, and whether that is available."""
    known = [Role(defined(agent, call.settings), health) for agent, health in call.board.hosts.health()]
    named = {agent.name for agent in call.board.agents.list().items}
    return [*known, *(Role(agent, Health(agent.id)) for agent in newcomers(call.settings, named))]


@operation("role.check", CheckRoles, list[Role], AgentNotFound, idempotent=True, slow=True)
def check(call: Call, arguments: CheckRoles) -> list[Role]:
    """Check the program behind an agent, or behind every one: whether it is there, knows the model, and answers."""
    board = call.board
    named = arguments.agent
    welcome(board, call.settings, {named} if named else set(call.settings.agents))
    agents = [board.agents.show(named)] if named else [agent for agent, _ in board.hosts.health()]
    found = [defined(agent, call.settings) for agent in agents]
    checked = [_checked(call, agent) for agent in found]
    board.hosts.tell_of_checks(None)
    return checked


def _checked(call: Call, agent: Agent) -> Role:
    """Told to whoever watches when it begins and when it is over: it may take a while."""
    hosts = call.board.hosts
    hosts.tell_of_checks(agent, begin=True)
    health = hosts.note_health(check_up(agent, call.settings, call.board.clock))
    hosts.tell_of_checks(agent)
    return Role(agent, health)


OPERATIONS = (list_, check)
