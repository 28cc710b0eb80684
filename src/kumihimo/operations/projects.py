"""Projects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import AgentNotFound, IllegalTransition, InvalidValue, NameTaken, ProjectNotFound
from kumihimo.domain.project import Project
from kumihimo.engine.worktrees.marks import is_repository
from kumihimo.operations.operation import Arguments, Call, Nothing, operation
from kumihimo.services.exclusion import keep_out_of_git
from kumihimo.services.project_file import project_file_text
from kumihimo.services.projects import Initialised
from kumihimo.settings import PROJECT_FILE

ProjectName = Annotated[str, Meta(description="A project: its name, its prj_ id, or the beginning of that.")]
AgentName = Annotated[str, Meta(description="An agent: its name, its agt_ id, or the beginning of that.")]

# Which CLI the built-in agents get: the first that is installed.
_INSTALLED = (("claude", "claude-code"), ("codex", "codex"), ("gemini", "gemini-cli"))


class ProjectView(Struct, frozen=True):
    """A project with those who work there."""

    project: Project
    agents: list[Agent]


class InitProject(Arguments, frozen=True):
    directory: Annotated[str, Meta(description="The folder; where you are if left out.")] = "."


class AddProject(Arguments, frozen=True):
    name: Annotated[str, Meta(description="What to call it.")]
    directory: Annotated[str, Meta(description="Its folder, which must exist.")]
    worktrees: Annotated[bool, Meta(description="Agents work in git worktrees of their own.")] = False


class NameProject(Arguments, frozen=True):
    project: ProjectName


class ProjectAgent(Arguments, frozen=True):
    project: ProjectName
    agent: AgentName


def _view(call: Call, project: Project) -> ProjectView:
    members = call.board.agents.list(project_id=project.id).items
    return ProjectView(project, members)


def _folder(call: Call, given: str) -> Path:
    """The folder without links in it, so that it is found again from wherever one comes."""
    try:
        folder = (call.settings.folder / Path(given).expanduser()).resolve(strict=True)
    except (OSError, RuntimeError):
        # Not there, not to be entered, too long, a ring of links, or the home of nobody.
        raise InvalidValue("directory", "not_a_folder", value=given[:200]) from None
    if not folder.is_dir():
        raise InvalidValue("directory", "not_a_folder", value=given[:200])
    return folder


@operation("project.init", InitProject, Initialised, InvalidValue, idempotent=True)
def init(call: Call, arguments: InitProject) -> Initialised:
    """Make a folder a project: its row, its kumi.toml, and the built-in agents planner, coder, reviewer and writer.

    Safe to repeat: what is there stays as it is.
    """
    import shutil

    folder = _folder(call, arguments.directory)
    client = next((client for program, client in _INSTALLED if shutil.which(program)), "claude-code")
    made = call.board.projects.init(str(folder), git=is_repository(folder), client=client)
    file = folder / PROJECT_FILE
    if not file.exists():
        file.write_text(project_file_text(made.project.name), "utf-8")
    keep_out_of_git(folder)
    return made


@operation("project.add", AddProject, ProjectView, InvalidValue, NameTaken)
def add(call: Call, arguments: AddProject) -> ProjectView:
    """Register a folder as a project, without any agents and without writing into it."""
    folder = str(_folder(call, arguments.directory))
    return _view(call, call.board.projects.add(arguments.name, folder, worktrees=arguments.worktrees))


@operation("project.list", Nothing, list[ProjectView], reads=True)
def list_(call: Call, _: Nothing) -> list[ProjectView]:
    """Every project, by name."""
    people = {agent.id: agent for agent in call.board.agents.list().items}
    projects = call.board.projects.list()
    return [ProjectView(p, [people[a] for a in p.agent_ids if a in people]) for p in projects]


@operation("project.show", NameProject, ProjectView, ProjectNotFound, reads=True)
def show(call: Call, arguments: NameProject) -> ProjectView:
    """One project and its agents."""
    return _view(call, call.board.projects.show(arguments.project))


@operation("project.assign", ProjectAgent, ProjectView, ProjectNotFound, AgentNotFound, idempotent=True)
def assign(call: Call, arguments: ProjectAgent) -> ProjectView:
    """Let an agent work in a project."""
    agent = call.board.agents.show(arguments.agent)
    return _view(call, call.board.projects.assign(arguments.project, agent))


@operation("project.unassign", ProjectAgent, ProjectView, ProjectNotFound, AgentNotFound, idempotent=True)
def unassign(call: Call, arguments: ProjectAgent) -> ProjectView:
    """Take an agent out of a project. Tasks that it has stay its own until they are given to somebody else."""
    agent = call.board.agents.show(arguments.agent)
    return _view(call, call.board.projects.unassign(arguments.project, agent))


@operation("project.pause", NameProject, ProjectView, ProjectNotFound, IllegalTransition, idempotent=True)
def pause(call: Call, arguments: NameProject) -> ProjectView:
    """No Runner starts anything in it until it is resumed."""
    return _view(call, call.board.projects.move(arguments.project, "pause"))


@operation("project.resume", NameProject, ProjectView, ProjectNotFound, IllegalTransition, idempotent=True)
def resume(call: Call, arguments: NameProject) -> ProjectView:
    """Take a paused or archived project up again."""
    return _view(call, call.board.projects.move(arguments.project, "resume"))


@operation(
    "project.archive", NameProject, ProjectView, ProjectNotFound, IllegalTransition, idempotent=True, destructive=True
)
def archive(call: Call, arguments: NameProject) -> ProjectView:
    """Put a project away. Nothing is deleted; `project resume` brings it back."""
    return _view(call, call.board.projects.move(arguments.project, "archive"))


OPERATIONS = (init, add, list_, show, assign, unassign, pause, resume, archive)
