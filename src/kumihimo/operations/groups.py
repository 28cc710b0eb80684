"""Groups of runs."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from kumihimo.domain.errors import (
    ConfigError,
    EmptyAgents,
    EmptyStages,
    EmptyStageTasks,
    GroupHasRunningAgents,
    GroupNotActive,
    GroupNotFound,
    InvalidValue,
    MaxConcurrentReached,
    ModeMismatch,
    PlanFailed,
    RoleNotFound,
    RoleUnavailable,
    StartFailed,
)
from kumihimo.domain.group import Group, GroupMode, OnFailure
from kumihimo.domain.host import Host
from kumihimo.domain.project import Project
from kumihimo.operations.hosts import HostName
from kumihimo.operations.operation import Arguments, Call, Nothing, operation
from kumihimo.services.board import Board
from kumihimo.services.checkups import look_again
from kumihimo.services.definitions import defined, welcome
from kumihimo.services.groups import Errand, Limits
from kumihimo.services.host_name import host_id
from kumihimo.services.hosting import ensure, find_running, was_started
from kumihimo.services.sights import Sight
from kumihimo.settings import Settings

GroupId = Annotated[str, Meta(description="The id of the group.")]
_REFUSALS = (
    GroupNotFound, GroupNotActive, ModeMismatch, RoleNotFound, RoleUnavailable, MaxConcurrentReached, StartFailed, InvalidValue,
)  # fmt: skip


class CreateGroup(Arguments, frozen=True):
    description: Annotated[str, Meta(description="What the group is for.")]
    mode: Annotated[GroupMode, Meta(description="All at once, or stage by stage.")] = "concurrent"
    host: HostName | None = None


class NameGroup(Arguments, frozen=True):
    group: GroupId


class AgentToRun(Arguments, frozen=True, rename={"working_directory": "workingDirectory"}):
    """One agent to start."""

    role: Annotated[str, Meta(description="Who does it: the id of a role, as list_roles has it.")]
    prompt: Annotated[str, Meta(description="What is to be done.")]
    working_directory: Annotated[
        str | None, Meta(description="The folder to work in; that of the project if left out.")
    ] = None
    timeout_ms: Annotated[int | None, Meta(description="After so long it is ended. No limit if left out.")] = None


class AgentToPlace(AgentToRun, frozen=True):
    """One agent to start, in a folder or in a worktree of its own."""

    worktree: Annotated[bool, Meta(description="Work in a git worktree of its own, on a branch of its own.")] = False


class StageToRun(Arguments, frozen=True):
    """What is done at once, before the next stage begins."""

    tasks: Annotated[list[AgentToRun], Meta(description="The agents of this stage.")]


class RunAgents(Arguments, frozen=True):
    group: GroupId
    agents: Annotated[list[AgentToPlace], Meta(description="The agents to start, all at once.")]
    host: HostName | None = None


class RunStages(Arguments, frozen=True):
    group: GroupId
    stages: Annotated[list[StageToRun], Meta(description="The stages, in their order.")]
    on_failure: Annotated[
        OnFailure, Meta(description="After a stage in which something failed: go on, or give the rest up.")
    ] = "continue"
    host: HostName | None = None


class Deleted(Struct, frozen=True):
    """A group that is gone from view."""

    group: Group


class Started(Struct, frozen=True):
    """Runs that were asked for."""

    runs: list[Sight]


class Planned(Struct, frozen=True):
    """A plan that was put to work."""

    group: Group
    runs: list[Sight]


class GroupView(Struct, frozen=True):
    """A group with its runs."""

    group: Group
    runs: list[Sight]


def _held_up(settings: Settings, board: Board, arguments: RunAgents | RunStages) -> bool:
    """Nothing but writing a wish down, unless a host process has to be started, a missing program looked for, or a place made."""
    if isinstance(arguments, RunAgents):
        if any(one.worktree for one in arguments.agents):
            return True
        roles = {one.role for one in arguments.agents}
    else:
        roles = {one.role for stage in arguments.stages for one in stage.tasks}
    return not was_started(settings.state_folder) or board.hosts.any_missing(roles)


@operation("group.create", CreateGroup, Group, InvalidValue)
def create(call: Call, arguments: CreateGroup) -> Group:
    """A new group for runs that belong together."""
    try:
        project_id = call.board.projects.at(call.place).id
    except ConfigError:
        # Where it belongs to is decided by what is run in it.
        project_id = None
    return call.board.groups.create(
        arguments.description, mode=arguments.mode, project_id=project_id, host=arguments.host
    )


@operation("group.list", Nothing, list[Group], reads=True)
def list_(call: Call, _: Nothing) -> list[Group]:
    """Groups, newest first; deleted ones are still listed."""
    return call.board.groups.list()


@operation("group.show", NameGroup, GroupView, GroupNotFound, reads=True)
def show(call: Call, arguments: NameGroup) -> GroupView:
    """One group and its runs, also one that was deleted."""
    group = call.board.groups.show(arguments.group)
    return GroupView(group, call.board.executions.sights_of(group_id=group.id).items)


@operation("group.delete", NameGroup, Deleted, GroupNotFound, GroupHasRunningAgents, destructive=True)
def delete(call: Call, arguments: NameGroup) -> Deleted:
    """Delete a group that has nothing running. Its runs and their results are kept."""
    return Deleted(call.board.groups.delete(arguments.group))


@operation("group.run", RunAgents, Started, EmptyAgents, *_REFUSALS, slow=_held_up)
def run(call: Call, arguments: RunAgents) -> Started:
    """Start one or more agents at once. Nothing is started where any of them can't be."""
    with _refused_in_order(call, arguments):
        return _run(call, arguments)


def _run(call: Call, arguments: RunAgents) -> Started:
    _prepare(call, {one.role for one in arguments.agents})
    project, limits = _limits(call, StartFailed)
    asked = _Errands(call, project, arguments, StartFailed)
    errands = [asked.of(one) for one in arguments.agents]
    board = call.board
    if find_running(call.settings.state_folder) is None:
        # Looked at first, so that a refused request does not even start a supervisor.
        board.groups.require_runnable(arguments.group, errands, limits)
        ensure(call.settings)
    wanted = [one.worktree for one in arguments.agents]
    if any(wanted) and (host := asked.elsewhere) is not None:
        raise StartFailed("worktree_elsewhere", host=host.name)
    if not any(wanted):
        runs = board.groups.run(arguments.group, errands, limits)
    else:
        from kumihimo.services.placing import run_in_worktrees

        runs = run_in_worktrees(board, call.settings, project, arguments.group, errands, wanted, limits)
    return Started(board.executions.unseen(runs))


@operation("group.plan", RunStages, Planned, EmptyStages, EmptyStageTasks, PlanFailed, *_REFUSALS, slow=_held_up)
def plan(call: Call, arguments: RunStages) -> Planned:
    """Start agents stage by stage: each stage begins when everything of the one before is done, and is told its results."""
    with _refused_in_order(call, arguments):
        return _plan(call, arguments)


def _plan(call: Call, arguments: RunStages) -> Planned:
    _prepare(call, {one.role for stage in arguments.stages for one in stage.tasks})
    project, limits = _limits(call, PlanFailed)
    asked = _Errands(call, project, arguments, PlanFailed)
    stages = [[asked.of(one) for one in stage.tasks] for stage in arguments.stages]
    board = call.board
    if find_running(call.settings.state_folder) is None:
        board.groups.require_plannable(arguments.group, stages, limits)
        try:
            ensure(call.settings)
        except StartFailed as error:
            raise PlanFailed(**error.facts) from None  # pyright: ignore[reportArgumentType]
    made = board.groups.plan(arguments.group, stages, limits, on_failure=arguments.on_failure)
    return Planned(made.group, board.executions.unseen(run for stage in made.stages for run in stage))


@contextmanager
def _refused_in_order(call: Call, arguments: RunAgents | RunStages) -> Generator[None]:
    """That something could not be started is the last thing to be said: the group, the roles and the slots come before it."""
    try:
        yield
    except StartFailed:
        groups, limits = call.board.groups, Limits(call.settings.max_concurrent)
        if isinstance(arguments, RunAgents):
            groups.require_runnable(arguments.group, _nowhere(arguments.agents, arguments.host), limits)
        else:
            stages = [_nowhere(stage.tasks, arguments.host) for stage in arguments.stages]
            groups.require_plannable(arguments.group, stages, limits)
        raise


def _nowhere(asked: Sequence[AgentToRun], host: str | None) -> list[Errand]:
    """What is asked for, as far as it can be judged without a folder."""
    return [Errand(one.role, one.prompt, "", one.timeout_ms, host=host) for one in asked]


def _prepare(call: Call, roles: set[str]) -> None:
    """Who is asked for may be new to the board, or have been ill when last looked at."""
    welcome(call.board, call.settings, roles)
    look_again(call.board, call.settings, roles)


def _limits(call: Call, failure: type[StartFailed]) -> tuple[Project, Limits]:
    try:
        project = call.board.projects.at(call.place)
    except ConfigError as error:
        raise failure("no_project", reason=str(error)) from None
    return project, Limits(call.settings.max_concurrent, project.id, lambda agent: defined(agent, call.settings))


class _Errands:
    """What is asked for in one request. A folder that many are to work in is looked at once."""

    def __init__(
        self, call: Call, project: Project, arguments: RunAgents | RunStages, failure: type[StartFailed]
    ) -> None:
        self._call = call
        self._project = project
        self._group = arguments.group
        self._host = arguments.host
        self._failure = failure
        self._folders: dict[str | None, str] = {}

    @property
    def elsewhere(self) -> Host | None:
        """The host on which it is to be done, where that is not this one."""
        board = self._call.board
        wanted = self._host or board.groups.show(self._group).host
        return board.hosts.elsewhere(host_id(self._call.settings.state_folder), wanted, self._project.id)

    def of(self, one: AgentToRun) -> Errand:
        asked = one.working_directory
        if asked not in self._folders:
            self._folders[asked] = self._folder(asked)
        return Errand(one.role, one.prompt, self._folders[asked], one.timeout_ms, host=self._host)

    def _folder(self, asked: str | None) -> str:
        failure = self._failure
        folder = Path(self._project.working_directory, asked or "")
        try:
            folder = Path(self._project.working_directory, Path(asked or "").expanduser())
            there = folder.is_dir()
        except (ValueError, OSError, RuntimeError):
            # A name that no folder can have, or the home of nobody.
            there = False
        if not there and self.elsewhere is None:
            raise failure("no_such_folder", folder=str(folder)[:300])
        if asked is not None and self._call.settings.keeps(folder):
            raise failure("private_folder", folder=str(folder)[:300])
        return str(folder)


OPERATIONS = (create, list_, show, delete, run, plan)
