"""Agents."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from kumihimo.domain.agent import Agent, AgentStatus, AgentType
from kumihimo.domain.errors import AgentNotFound, IllegalTransition, InvalidValue, NameTaken
from kumihimo.operations.operation import Arguments, Call, operation
from kumihimo.operations.projects import AgentName
from kumihimo.services.agents import KeyedAgent
from kumihimo.store.paging import Page

Limit = Annotated[int, Meta(description="How many at the most.")]
Cursor = Annotated[str, Meta(description="Continue behind the last page: its nextCursor.")]
Client = Annotated[str, Meta(description="The CLI that plays it: claude-code, codex, gemini-cli, ...")]
Model = Annotated[str, Meta(description="The model that the CLI is told to use.")]
Role = Annotated[str, Meta(description="What it is for, in a few words.")]
SystemPrompt = Annotated[str, Meta(description="What it is told before every task.")]
Capabilities = Annotated[list[str], Meta(description="A word for something it can do; may be repeated.")]
Checks = Annotated[list[str], Meta(description="A command that must pass before work is done; may be repeated.")]
WriteGlobs = Annotated[list[str], Meta(description="A glob that may be written; may be repeated. None: everything.")]
ExcludeGlobs = Annotated[list[str], Meta(description="A glob that is not even checked out; may be repeated.")]
Kind = Annotated[AgentType, Meta(description="An AI, or a person.")]


class AddAgent(Arguments, frozen=True):
    name: Annotated[str, Meta(description="A name that can be typed: letters, digits, '.', '-', '_'.")]
    client: Client = "claude-code"
    model: Model | None = None
    role: Role = ""
    system_prompt: SystemPrompt = ""
    type: Kind = "ai"
    capabilities: Capabilities = []  # noqa: RUF012 - msgspec copies it
    dod: Checks = []  # noqa: RUF012
    write: WriteGlobs = []  # noqa: RUF012
    exclude: ExcludeGlobs = []  # noqa: RUF012


class UpdateAgent(Arguments, frozen=True):
    agent: AgentName
    client: Client | None = None
    model: Model | None = None
    role: Role | None = None
    system_prompt: SystemPrompt | None = None
    type: Kind | None = None
    capabilities: Capabilities | None = None
    dod: Checks | None = None
    write: WriteGlobs | None = None
    exclude: ExcludeGlobs | None = None
    status: Annotated[AgentStatus | None, Meta(description="Whether it takes part in work.")] = None


class NameAgent(Arguments, frozen=True):
    agent: AgentName


class ListAgents(Arguments, frozen=True):
    limit: Limit | None = None
    cursor: Cursor | None = None


@operation("agent.add", AddAgent, KeyedAgent, InvalidValue, NameTaken, slow=True)
def add(call: Call, arguments: AddAgent) -> KeyedAgent:
    """A new agent. Its passkey is in the answer and nowhere else: keep it."""
    return call.board.agents.add(
        arguments.name,
        client=arguments.client,
        model=arguments.model,
        role=arguments.role,
        system_prompt=arguments.system_prompt,
        type=arguments.type,
        capabilities=arguments.capabilities,
        dod=arguments.dod,
        write=arguments.write,
        exclude=arguments.exclude,
    )


@operation("agent.list", ListAgents, Page[Agent], reads=True)
def list_(call: Call, arguments: ListAgents) -> Page[Agent]:
    """Every agent, by name."""
    return call.board.agents.list(limit=arguments.limit, cursor=arguments.cursor)


@operation("agent.show", NameAgent, Agent, AgentNotFound, reads=True)
def show(call: Call, arguments: NameAgent) -> Agent:
    """One agent: who it is, the CLI that plays it, its checks, and what it may touch."""
    return call.board.agents.show(arguments.agent)


@operation("agent.update", UpdateAgent, Agent, AgentNotFound, InvalidValue, IllegalTransition, idempotent=True)
def update(call: Call, arguments: UpdateAgent) -> Agent:
    """Change what is given; the rest stays. A repeated option replaces the whole list."""
    return call.board.agents.update(
        arguments.agent,
        client=arguments.client,
        model=arguments.model,
        role=arguments.role,
        system_prompt=arguments.system_prompt,
        type=arguments.type,
        capabilities=arguments.capabilities,
        dod=arguments.dod,
        write=arguments.write,
        exclude=arguments.exclude,
        status=arguments.status,
    )


@operation("agent.rekey", NameAgent, KeyedAgent, AgentNotFound, slow=True)
def rekey(call: Call, arguments: NameAgent) -> KeyedAgent:
    """A new passkey for an agent; the old one is good no longer. It is in the answer and nowhere else: keep it."""
    return call.board.agents.rekey(arguments.agent)


@operation("agent.archive", NameAgent, Agent, AgentNotFound, idempotent=True, destructive=True)
def archive(call: Call, arguments: NameAgent) -> Agent:
    """Retire an agent: it can't log in and no Runner starts it. What it did stays."""
    return call.board.agents.archive(arguments.agent)


OPERATIONS = (add, list_, show, update, rekey, archive)
