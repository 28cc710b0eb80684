"""Sessions: logging in, staying in, and being out. At most one live session per agent and project.

A token is 160 random bits, known here only by its SHA-256. An ended session stays ended; one whose time is over, or whose
process is proven dead, is ended by whoever notices first.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from datetime import datetime

import msgspec

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import AgentBusy, LoginRefused, SessionNotFound, TokenRefused
from kumihimo.domain.event import Change
from kumihimo.domain.execution import Execution
from kumihimo.domain.identifiers import TOKEN_PREFIX
from kumihimo.domain.project import Project
from kumihimo.domain.session import LIFETIME, EndReason, Process, Session
from kumihimo.engine.processes.identity import proven_dead
from kumihimo.services import memories
from kumihimo.services.service import Service, command, query
from kumihimo.store.store import Transaction


class Login(msgspec.Struct, frozen=True):
    """A session with its token in clear: answered once, stored nowhere."""

    session: Session
    token: str
    agent: Agent
    project: Project
    decisions: str = ""
    """What the memory bank of the project has for an agent that works in it."""

    @property
    def system_prompt(self) -> str:
        return "\n\n".join(part for part in (self.agent.system_prompt, self.decisions) if part)


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class Sessions(Service):
    def authenticate(self, agent_id: str, passkey: str, project_id: str, process: Process | None = None) -> Login:
        """A session for the right passkey of an active member of a project.

        One refusal for everything that may be wrong, after the same work: the passkey is checked even where there is no
        such agent. Outside the command, because a hash takes longer than a command may.
        """
        from kumihimo.services.passkeys import matches

        stored = self.store.read(
            lambda transaction: transaction.agents.passkey_hash(agent_id) if "\0" not in agent_id else None
        )
        if not matches(stored, passkey):
            raise LoginRefused
        return self.open(agent_id, project_id, process)

    @command
    def open(self, transaction: Transaction, agent_id: str, project_id: str, process: Process | None = None) -> Login:
        """A session for an agent that is known to be itself."""
        agent = transaction.agents.get(agent_id)
        # Locked, so that nobody takes the agent out of the project while it logs in.
        project = None if "\0" in project_id else transaction.projects.lock(project_id)
        if agent is None or project is None or agent.id not in project.agent_ids:
            raise LoginRefused
        if agent.status != "active" or agent.type != "ai" or project.status == "archived":
            raise LoginRefused
        self._clear_the_place(transaction, agent.id, project.id)
        now = self.clock()
        session = Session(
            self.identifiers.new("session"),
            agent.id,
            project.id,
            "live",
            now,
            now + LIFETIME,
            process=process,
        )
        token = self.identifiers.secret(TOKEN_PREFIX)
        if not transaction.sessions.open(Change(session, "session.started", now), hash_of(token)):
            raise AgentBusy
        transaction.instances.settle_order(agent.id, project.id)
        return Login(session, token, agent, project, memories.decisions(transaction, project.id))

    def use(self, token: str) -> Session:
        """The live session of a token; using it makes it last again. TokenRefused for any other token."""
        session = self._use(token)
        if session is None:
            raise TokenRefused
        return session

    def use_id(self, session_id: str) -> Session:
        """As `use`, for a process that knows its session by id."""
        session = self._use_found(session_id)
        if session is None:
            raise TokenRefused
        return session

    def logout(self, token: str, reason: EndReason = "logout", summary: str | None = None) -> Session:
        return self.end(self.use(token).id, reason, summary)

    @command
    def end(self, transaction: Transaction, session_id: str, reason: EndReason, summary: str | None = None) -> Session:
        """Over. A session that is over already stays as it ended."""
        session = transaction.sessions.lock(session_id)
        if session is None:
            raise SessionNotFound(session_id)
        return session if session.status == "ended" else self._end(transaction, session, reason, summary)

    @command
    def sweep(self, transaction: Transaction, is_dead: Callable[[Process], bool] = proven_dead) -> list[Session]:
        """End every session whose time is over or whose process is proven dead."""
        return [
            self._end(transaction, session, reason)
            for found in transaction.sessions.all_live()
            if (session := transaction.sessions.lock(found.id)) and (reason := self._over(session, is_dead))
        ]

    @query
    def live(self, transaction: Transaction, agent_id: str, project_id: str) -> Session | None:
        """The live session of a pair, if its time is not over."""
        session = transaction.sessions.live(agent_id, project_id)
        return None if session is None or session.expired(self.clock()) else session

    @command
    def keep_alive(self, transaction: Transaction, agent_id: str, project_id: str) -> None:
        """The session of a pair whose process is known to live starts its time anew."""
        found = transaction.sessions.live(agent_id, project_id)
        session = transaction.sessions.lock(found.id) if found else None
        change = session.touch(self.clock()) if session and session.status == "live" else None
        if change is not None:
            transaction.sessions.save(change)

    @query
    def count_live(self, transaction: Transaction) -> int:
        return transaction.sessions.count("status = 'live'")

    @command
    def _use(self, transaction: Transaction, token: str) -> Session | None:
        wanted = hash_of(token)
        found = transaction.sessions.with_token(wanted)
        if found is None or not hmac.compare_digest(found[1], wanted):
            return None
        return self._use_found(found[0].id)

    @command
    def _use_found(self, transaction: Transaction, session_id: str) -> Session | None:
        session = transaction.sessions.lock(session_id)
        if session is None or session.status != "live":
            return None
        if session.expired(self.clock()):
            self._end(transaction, session, "expired")
            return None
        change = session.touch(self.clock())
        if change is None:
            return session
        transaction.sessions.save(change)
        return change.value

    def _clear_the_place(self, transaction: Transaction, agent_id: str, project_id: str) -> None:
        found = transaction.sessions.live(agent_id, project_id)
        session = transaction.sessions.lock(found.id) if found else None
        reason = self._over(session, proven_dead) if session else None
        if session and reason:
            self._end(transaction, session, reason)

    def _over(self, session: Session, is_dead: Callable[[Process], bool]) -> EndReason | None:
        if session.status != "live":
            return None
        if session.process is not None and is_dead(session.process):
            return "process_died"
        return "expired" if session.expired(self.clock()) else None

    def _end(
        self, transaction: Transaction, session: Session, reason: EndReason, summary: str | None = None
    ) -> Session:
        change = session.end(reason, self.clock(), summary)
        transaction.sessions.save(change)
        for execution in transaction.executions.of_session(session.id):
            transaction.executions.save(_closed(execution, reason, self.clock()))
        return change.value


def _closed(execution: Execution, reason: EndReason, at: datetime) -> Change[Execution]:
    """What becomes of a run whose session is over before it was reported: who left knew of it, who vanished did not."""
    if reason in ("expired", "process_died"):
        return execution.lose(at)
    return execution.cancel(at)
