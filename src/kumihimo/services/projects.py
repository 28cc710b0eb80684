"""Projects: making folders into them, finding the one that is meant, and who works there."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

from kumihimo.domain import agent as agents
from kumihimo.domain import text
from kumihimo.domain.agent import Agent, Scope
from kumihimo.domain.errors import InvalidValue, NameTaken, NoProject, ProjectNotFound, ProjectUnclear
from kumihimo.domain.event import Change
from kumihimo.domain.project import Project
from kumihimo.services.references import by_name, missing
from kumihimo.services.service import Service, command, lookup
from kumihimo.store.store import Transaction


class Place(msgspec.Struct, frozen=True):
    """Where a caller stands: a project that was named, else the folder it works in."""

    project: str | None = None
    folder: str | None = None


class Initialised(msgspec.Struct, frozen=True):
    """What `init` found or made."""

    project: Project
    created: bool
    agents: list[Agent]


def find(transaction: Transaction, reference: str) -> Project:
    """By id, name or prefix."""
    found = by_name(transaction.projects, transaction.projects.named, "prj_", reference)
    if found is None:
        raise missing(ProjectNotFound, reference, transaction.projects.names())
    return found


def at(transaction: Transaction, place: Place) -> Project:
    """The named one, else that of the nearest registered folder above, else the only one."""
    if place.project is not None:
        return find(transaction, place.project)
    if place.folder is not None:
        inside = transaction.projects.in_folders(_upwards(place.folder))
        if inside is not None:
            return inside
    some = transaction.projects.all(2)
    if len(some) == 1:
        return some[0]
    raise ProjectUnclear(transaction.projects.names()) if some else NoProject


@lru_cache(maxsize=256)
def _upwards(folder: str) -> list[str]:
    """It, and all that it lies in."""
    there = Path(folder)
    return [str(there), *map(str, there.parents)]


class Projects(Service):
    @command
    def init(self, transaction: Transaction, folder: str, *, git: bool, client: str = "claude-code") -> Initialised:
        """The folder as a project with the built-in agents, made where it is missing. Safe to repeat."""
        existing = transaction.projects.in_folder(folder)
        made = None if existing else self._try_to_add(transaction, folder, git)
        project = made or self._taken_up(transaction, folder)
        team = [self._built_in(transaction, built_in, client) for built_in in agents.BUILT_INS]
        for member in team:
            project = self._assign(transaction, project, member)
        return Initialised(project, made is not None, team)

    @command
    def add(self, transaction: Transaction, name: str, folder: str, *, worktrees: bool = False) -> Project:
        name = text.line("name", name, 100)
        taken = transaction.projects.in_folder(folder)
        if taken is not None:
            raise InvalidValue("directory", "folder_taken", value=folder, project=taken.name)
        return self._add(transaction, name, folder, worktrees)

    @lookup
    def show(self, transaction: Transaction, reference: str) -> Project:
        return find(transaction, reference)

    @lookup
    def at(self, transaction: Transaction, place: Place) -> Project:
        return at(transaction, place)

    @lookup
    def list(self, transaction: Transaction) -> list[Project]:
        return transaction.projects.all()

    @command
    def move(self, transaction: Transaction, reference: str, action: str) -> Project:
        """pause, resume or archive. Already there is fine."""
        project = self._locked(transaction, reference)
        if project.status == {"pause": "paused", "resume": "active", "archive": "archived"}[action]:
            return project
        change = project.move(action, self.clock())
        transaction.projects.save(change)
        return change.value

    @command
    def assign(self, transaction: Transaction, reference: str, agent: Agent) -> Project:
        """An agent becomes a member. A member stays one."""
        return self._assign(transaction, self._locked(transaction, reference), agent)

    @command
    def unassign(self, transaction: Transaction, reference: str, agent: Agent) -> Project:
        project = self._locked(transaction, reference)
        if agent.id not in project.agent_ids:
            return project
        change = project.unassign(agent.id, self.clock())
        transaction.projects.save_agents(change)
        return change.value

    def _locked(self, transaction: Transaction, reference: str) -> Project:
        found = find(transaction, reference)
        return transaction.projects.lock(found.id) or found

    def _try_to_add(self, transaction: Transaction, folder: str, git: bool) -> Project | None:
        """The folder as a new project; None where somebody else was faster."""
        while True:
            project = self._new(self._free_name(transaction, Path(folder).name), folder, git)
            if transaction.projects.add(Change(project, "project.created", project.created_at)):
                return project
            if transaction.projects.in_folder(folder) is not None:
                return None

    def _taken_up(self, transaction: Transaction, folder: str) -> Project:
        """The project that a folder is already, locked, and active again where it was archived."""
        found = transaction.projects.in_folder(folder)
        project = transaction.projects.lock(found.id) if found else None
        assert project is not None, "projects are never deleted"
        if project.status != "archived":
            return project
        change = project.move("resume", self.clock())
        transaction.projects.save(change)
        return change.value

    def _new(self, name: str, folder: str, worktrees: bool) -> Project:
        now = self.clock()
        return Project(self.identifiers.new("project"), name, folder, "active", worktrees, now, now)

    def _add(self, transaction: Transaction, name: str, folder: str, worktrees: bool) -> Project:
        project = self._new(name, folder, worktrees)
        if not transaction.projects.add(Change(project, "project.created", project.created_at)):
            raise NameTaken("project", name)
        return project

    def _assign(self, transaction: Transaction, project: Project, agent: Agent) -> Project:
        if agent.id in project.agent_ids:
            return project
        change = project.assign(agent.id, self.clock())
        transaction.projects.save_agents(change)
        return change.value

    def _free_name(self, transaction: Transaction, wanted: str) -> str:
        """The folder's name, with a number behind it where another project has it."""
        base = text.line("name", wanted or "root", 100)
        name, count = base, 2
        while transaction.projects.named(name) is not None:
            name, count = f"{base}-{count}", count + 1
        return name

    def _built_in(self, transaction: Transaction, built_in: agents.BuiltIn, client: str) -> Agent:
        existing = transaction.agents.named(built_in.name)
        if existing is not None:
            return existing
        now = self.clock()
        agent = Agent(
            self.identifiers.new("agent"), built_in.name, "ai", "active", client, None, built_in.role,
            built_in.system_prompt, (), (), Scope(), now, now,
        )  # fmt: skip
        if transaction.agents.add(Change(agent, "agent.created", now)):
            return agent
        # Somebody else made it a moment ago.
        return transaction.agents.named(built_in.name) or agent
