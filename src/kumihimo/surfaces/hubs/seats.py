"""Where a caller sits at the hub: of which project it is, in which folder it works, and what it may use."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.errors import UpstreamRefused
from kumihimo.domain.execution import Execution
from kumihimo.domain.trace import traceparent
from kumihimo.engine.worktrees.marks import is_repository
from kumihimo.hub.permission import EVERYTHING, Permission
from kumihimo.operations.operation import Caller
from kumihimo.operations.servers import hub_folder
from kumihimo.services.board import Board
from kumihimo.services.host_name import known_host_id
from kumihimo.settings import Flags, Settings, load


class Seat(Struct, frozen=True):
    """`folder` is the project's, whose hub it is; `worktree` is where the caller works; `actor` is what the log says."""

    folder: Path
    worktree: Path | None
    actor: str
    permission: Permission = EVERYTHING
    project_id: str | None = None
    execution_id: str | None = None
    meta: dict[str, str] | None = None
    """What servers are told beside the arguments of its calls."""

    @property
    def caller(self) -> str:
        """Whose answers are kept apart from those of others."""
        return self.execution_id or self.actor


def seat_of(settings: Settings, board: Board, caller: Caller) -> Seat:
    """KumihimoError where its project is not known."""
    if caller.execution_id is not None:
        run = board.executions.show(caller.execution_id)
        _require_own(settings, board, run)
        where = run.working_directory
        seat = _agent_seat(board, run.agent_id, run.project_id or "", where, caller.actor, run.id)
        if settings.telemetry.traces:
            seat = replace(seat, meta={"traceparent": traceparent(run.id, run.group_id)})
        return seat
    if caller.only is not None:
        return _agent_seat(board, *caller.only, _working_directory(board, caller), caller.instance_id or caller.actor)
    return _owner_seat(settings, board, caller)


def _require_own(settings: Settings, board: Board, run: Execution) -> None:
    """The servers of a run work in its folder: they are on its host, and what they remember is there."""
    if run.host_id is not None and run.host_id != known_host_id(settings.state_folder):
        where = board.hosts.called(run.host_id)
        raise UpstreamRefused(
            "CANNOT_EXECUTE", f"{run.id} runs on the host {where}: the servers behind its hub are there."
        )


def _owner_seat(settings: Settings, board: Board, caller: Caller) -> Seat:
    """Who named a project is in its folder; else it is where the process was started, project of the board or not."""
    place = caller.place
    folder, project = hub_folder(board, place, settings.folder)
    if project is None:
        return Seat(folder, None, caller.actor)
    own = None if place.project is not None or place.folder is None else _tree_in(folder, Path(place.folder))
    return Seat(folder, own, caller.actor, project_id=project.id)


def _tree_in(project: Path, folder: Path) -> Path | None:
    """The worktree inside a project's folder that somebody stands in. Any other folder there is the project's own."""
    above = (place for place in (folder, *folder.parents) if place != project and place.is_relative_to(project))
    return next((place for place in above if is_repository(place)), None)


def _agent_seat(
    board: Board, agent_id: str, project_id: str, where: str | None, actor: str, execution_id: str | None = None
) -> Seat:
    project = board.projects.show(project_id)
    folder = Path(project.working_directory)
    worktree = Path(where) if where and Path(where) != folder else None
    name = board.agents.show(agent_id).name
    return Seat(folder, worktree, actor, permission_of(folder, name), project.id, execution_id)


def _working_directory(board: Board, caller: Caller) -> str | None:
    if caller.instance_id is None:
        return None
    return board.instances.working_directory(caller.instance_id)


def permission_of(folder: Path, agent: str) -> Permission:
    """What the settings that hold in the project say of the agent. ConfigError where they can't be read: then nobody can say
    what is allowed."""
    definition = load(Flags(), os.environ, folder).agents.get(agent)
    return EVERYTHING if definition is None else Permission(definition.hub.allow, definition.hub.deny)
