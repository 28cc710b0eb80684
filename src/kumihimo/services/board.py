"""The board: every service over one store. What operations are given to work with."""

from __future__ import annotations

from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.agents import Agents
from kumihimo.services.artifacts import Artifacts
from kumihimo.services.assignments import Assignments
from kumihimo.services.contexts import Contexts
from kumihimo.services.evidences import Evidences
from kumihimo.services.executions import Executions
from kumihimo.services.groups import Groups
from kumihimo.services.handoffs import Handoffs
from kumihimo.services.hosts import Hosts
from kumihimo.services.hub_calls import HubCalls
from kumihimo.services.instances import Instances
from kumihimo.services.memories import Memories
from kumihimo.services.outputs import Outputs
from kumihimo.services.panorama import Watch
from kumihimo.services.projects import Projects
from kumihimo.services.retries import Retries
from kumihimo.services.service import Clock
from kumihimo.services.sessions import Sessions
from kumihimo.services.tasks import Tasks
from kumihimo.services.tokens import Tokens
from kumihimo.services.workers import Workers
from kumihimo.services.worksessions import WorkSessions
from kumihimo.settings import Settings
from kumihimo.store.store import Store


class Board:
    """With `settings`, what runs have written is also found where it is not on this machine."""

    def __init__(self, store: Store, clock: Clock, identifiers: Identifiers, settings: Settings | None = None) -> None:
        self.store = store
        self.clock = clock
        self.projects = Projects(store, clock, identifiers)
        self.agents = Agents(store, clock, identifiers)
        self.tasks = Tasks(store, clock, identifiers)
        self.contexts = Contexts(store, clock, identifiers)
        self.handoffs = Handoffs(store, clock, identifiers)
        self.memories = Memories(store, clock, identifiers)
        self.sessions = Sessions(store, clock, identifiers)
        self.executions = Executions(store, clock, identifiers)
        self.groups = Groups(store, clock, identifiers, executions=self.executions)
        self.hosts = Hosts(store, clock, identifiers)
        self.hub_calls = HubCalls(store, clock, identifiers)
        self.tokens = Tokens(store, clock, identifiers)
        self.artifacts = Artifacts(store, clock, identifiers, tokens=self.tokens, settings=settings)
        self.outputs = Outputs(store, clock, identifiers, artifacts=self.artifacts)
        self.watch = Watch(store, clock, identifiers)
        self.work_sessions = WorkSessions(store, clock, identifiers, tasks=self.tasks, executions=self.executions)
        self.workers = Workers(store, clock, identifiers, tasks=self.tasks, executions=self.executions)
        self.retries = Retries(store, clock, identifiers)
        self.evidence = Evidences(store, clock, identifiers, tasks=self.tasks)
        self.instances = Instances(
            store, clock, identifiers, tasks=self.tasks, sessions=self.sessions, tokens=self.tokens
        )
        self.assignments = Assignments(
            store,
            clock,
            identifiers,
            tasks=self.tasks,
            executions=self.executions,
            sessions=self.sessions,
            contexts=self.contexts,
        )
