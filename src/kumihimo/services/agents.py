"""Agents: durable identities with a passkey that is shown once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from kumihimo.domain import text
from kumihimo.domain.agent import CLIENTS, STATES, Agent, AgentType, Scope
from kumihimo.domain.errors import AgentNotFound, InvalidValue, NameTaken
from kumihimo.domain.event import Change
from kumihimo.services.references import by_name, missing, nearest
from kumihimo.services.service import Service, command, lookup, query
from kumihimo.store.paging import Page, bounded, decode, encode
from kumihimo.store.store import Transaction


class KeyedAgent(msgspec.Struct, frozen=True):
    """An agent with its passkey in clear: answered once, stored nowhere."""

    agent: Agent
    passkey: str


def find(transaction: Transaction, reference: str) -> Agent:
    """By id, name or prefix."""
    found = by_name(transaction.agents, transaction.agents.named, "agt_", reference)
    if found is None:
        raise missing(AgentNotFound, reference, transaction.agents.names())
    return found


class Agents(Service):
    def add(
        self,
        name: str,
        *,
        client: str = "claude-code",
        model: str | None = None,
        role: str = "",
        system_prompt: str = "",
        type: AgentType = "ai",  # noqa: A002 - the field's own name
        capabilities: Sequence[str] = (),
        dod: Sequence[str] = (),
        write: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> KeyedAgent:
        """A new agent. Its passkey is hashed before the command begins: a hash takes longer than a command may."""
        now = self.clock()
        agent = Agent(
            id=self.identifiers.new("agent"),
            name=text.name("name", name),
            type=type,
            status="active",
            client=known_client(client),
            model=None if model is None else text.line("model", model, 200),
            role=text.long("role", role),
            system_prompt=text.long("system_prompt", system_prompt),
            capabilities=text.lines("capability", tuple(capabilities)),
            dod=text.lines("dod", tuple(dod)),
            scope=Scope(text.lines("write", tuple(write)), text.lines("exclude", tuple(exclude))),
            created_at=now,
            updated_at=now,
        )
        return self._with_new_passkey(agent, lambda transaction: self._insert(transaction, agent))

    def rekey(self, reference: str) -> KeyedAgent:
        """A new passkey; the old one is good no longer."""
        agent = self.show(reference)

        def note(transaction: Transaction) -> None:
            # As it is by now: hashing took a while, and others may have changed it.
            newest = transaction.agents.lock(agent.id) or agent
            transaction.agents.save(Change(newest, "agent.rekeyed", self.clock()))

        return self._with_new_passkey(agent, note)

    @lookup
    def show(self, transaction: Transaction, reference: str) -> Agent:
        return find(transaction, reference)

    @query
    def list(
        self,
        transaction: Transaction,
        *,
        project_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Page[Agent]:
        """By name."""
        size = 1_000 if limit is None else bounded(limit)
        after = decode(cursor, str)[0] if cursor else None
        found = transaction.agents.all(project_id=project_id, after=after, limit=size + 1)
        more = len(found) > size
        return Page(found[:size], encode(found[size - 1].name) if more else None)

    @command
    def update(self, transaction: Transaction, reference: str, **fields: Any) -> Agent:
        """Change what is given; what is None stays."""
        agent = self._locked(transaction, reference)
        status = fields.pop("status", None)
        changes = _checked(agent, {name: value for name, value in fields.items() if value is not None})
        if changes:
            change = agent.edit(self.clock(), **changes)
            transaction.agents.save(change)
            agent = change.value
        return self._to_status(transaction, agent, status) if status else agent

    @command
    def archive(self, transaction: Transaction, reference: str) -> Agent:
        return self._to_status(transaction, self._locked(transaction, reference), "archived")

    def _to_status(self, transaction: Transaction, agent: Agent, status: str) -> Agent:
        if agent.status == status:
            return agent
        ways = {after: action for (before, action), after in STATES.rows.items() if before == agent.status}
        change = agent.move(ways.get(status, status), self.clock())
        transaction.agents.save(change)
        return change.value

    def _locked(self, transaction: Transaction, reference: str) -> Agent:
        found = find(transaction, reference)
        return transaction.agents.lock(found.id) or found

    def _insert(self, transaction: Transaction, agent: Agent) -> None:
        if not transaction.agents.add(Change(agent, "agent.created", agent.created_at)):
            raise NameTaken("agent", agent.name)

    def _with_new_passkey(self, agent: Agent, write: Callable[[Transaction], None]) -> KeyedAgent:
        from kumihimo.services.passkeys import hash_of

        passkey = self.identifiers.secret()
        hashed = hash_of(passkey)

        def both(transaction: Transaction) -> None:
            write(transaction)
            transaction.agents.set_passkey_hash(agent.id, hashed)

        self.store.write(both)
        return KeyedAgent(agent, passkey)


def known_client(name: str) -> str:
    if name not in CLIENTS:
        near = nearest(name[:60], CLIENTS)
        raise InvalidValue("client", "no_such_client", value=name[:60], choices=", ".join(CLIENTS), near=near)
    return name


def _checked(agent: Agent, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of an update as they are stored."""
    scope = Scope(
        text.lines("write", fields.pop("write", agent.scope.write)),
        text.lines("exclude", fields.pop("exclude", agent.scope.exclude)),
    )
    checked: dict[str, Any] = {"type": fields["type"]} if "type" in fields else {}
    if "client" in fields:
        checked["client"] = known_client(fields["client"])
    if "model" in fields:
        checked["model"] = text.line("model", fields["model"], 200)
    for name in ("role", "system_prompt"):
        if name in fields:
            checked[name] = text.long(name, fields[name])
    for name in ("capabilities", "dod"):
        if name in fields:
            checked[name] = text.lines(name, fields[name])
    if scope != agent.scope:
        checked["scope"] = scope
    return {name: value for name, value in checked.items() if getattr(agent, name) != value}
