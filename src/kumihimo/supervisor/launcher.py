"""The launcher: from a run that was claimed to an agent at work."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from kumihimo import settings as configuration
from kumihimo.domain.agent import Agent
from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Usage
from kumihimo.domain.trace import traceparent
from kumihimo.engine.agents.client import TOKEN_VARIABLE, Client, Door, Order
from kumihimo.engine.agents.starting import SpawnFailed, client_named, lay_out, program_of
from kumihimo.engine.processes.nursery import Nursery
from kumihimo.engine.processes.secrets import secrets_in
from kumihimo.engine.processes.wrapper import MARKER, RunFolder, script
from kumihimo.services.definitions import defined
from kumihimo.services.sights import Sight
from kumihimo.settings import HubSection, Settings
from kumihimo.supervisor.prompt import compose
from kumihimo.supervisor.watched_run import WatchedRun

_AS_INSTALLED = configuration.Client()


class WorkingPlace(Struct, frozen=True):
    """A folder that agents work in, and what holds for all of them there."""

    directory: Path
    settings: Settings
    # The git folder of a worktree lies outside it, and must be written to commit there.
    writable: tuple[Path, ...]
    home: Path

    @staticmethod
    def at(directory: Path, settings: Settings) -> WorkingPlace:
        return WorkingPlace(directory, settings, _git_folders(directory), Path.home())


class Launcher:
    def __init__(self, settings: Settings, nursery: Nursery, url: str) -> None:
        self._settings = settings
        self._nursery = nursery
        self._url = url
        named = settings.hub_config
        self._flags = configuration.Flags(hub_config=str(named) if named else None)
        self._runs = settings.state_folder / "runs"
        self._own_file = str(settings.config_folder / "config.toml")
        self._secrets = secrets_in(os.environ)
        self._known_settings: dict[Path, tuple[tuple[float, ...], Settings]] = {}
        # Looked at within the same moment, and so the same for all that are launched in it.
        self._current_places: dict[str, WorkingPlace] = {}
        self._current_programs: dict[str, list[str]] = {}
        self._current_doors: dict[tuple[Path, HubSection], str] = {}

    def look_again(self) -> None:
        """Settings may have changed since something was last launched."""
        self._current_places.clear()
        self._current_programs.clear()
        self._current_doors.clear()

    def folder_of(self, execution_id: str) -> RunFolder:
        return RunFolder(self._runs / execution_id)

    def launch(
        self,
        run: Execution,
        agent: Agent,
        token: str,
        stage_before: list[Sight],
        before: Usage,
        decisions: str = "",
        project: Path | None = None,
    ) -> WatchedRun:
        """Start it. `project` is the folder of its project.

        SpawnFailed, with nothing started, where something that it needs is not there.
        """
        place = self._place_of(run)
        directory, settings = place.directory, place.settings
        client = client_named(run.client)
        own = settings.clients.get(run.client, _AS_INSTALLED)
        folder = self.folder_of(run.id)
        door = Door(self._url + self._door_path(project or directory, settings))
        prompt = compose(run, stage_before, decisions)
        order = order_of(run, defined(agent, settings), folder, place, own, door, prompt)
        start = client.start(order)
        argv = [*self._program(client, own), *start.argv, *own.args]
        environment = {
            **({"TRACEPARENT": traceparent(run.id, run.group_id)} if self._settings.telemetry.traces else {}),
            **start.environment,
            **own.env,
            MARKER: run.id,
            TOKEN_VARIABLE: token,
            "PWD": str(directory),
        }
        try:
            self._nursery.furnish(folder.path)
            lay_out(folder, start)
            shell = self._nursery.launch(script(folder, argv, environment, directory))
        except (OSError, ValueError) as error:
            raise SpawnFailed(str(error)) from error
        secrets = (*secrets_in(environment), *self._secrets)
        return WatchedRun(run, client, folder, secrets, before, shell)

    def _place_of(self, run: Execution) -> WorkingPlace:
        """Where it works. SpawnFailed where there is no such folder."""
        name = run.working_directory or ""
        place = self._current_places.get(name)
        if place is None:
            directory = Path(name)
            if not directory.is_dir():
                raise SpawnFailed(f"there is no folder {directory}")
            place = self._current_places[name] = WorkingPlace.at(directory, self._settings_at(directory))
        return place

    def _door_path(self, project: Path, settings: Settings) -> str:
        key = (project, settings.hub)
        if key not in self._current_doors:
            self._current_doors[key] = settings.door_path(project)
        return self._current_doors[key]

    def _program(self, client: Client, own: configuration.Client) -> list[str]:
        key = f"{client.name} {own.command}"
        if key not in self._current_programs:
            self._current_programs[key] = program_of(client, own)
        return self._current_programs[key]

    def take_over(self, run: Execution, before: Usage) -> WatchedRun:
        """A run that another supervisor of this home started. Its secrets are those that are still known."""
        own = self._settings_of(run).clients.get(run.client, _AS_INSTALLED)
        secrets = (*secrets_in(own.env), *self._secrets)
        return WatchedRun(run, client_named(run.client), self.folder_of(run.id), secrets, before)

    def _settings_of(self, run: Execution) -> Settings:
        try:
            return self._settings_at(Path(run.working_directory or ""))
        except SpawnFailed:
            return self._settings

    def _settings_at(self, folder: Path) -> Settings:
        """The settings that hold in a folder: those of its repository win over the user's. Read again when a file changed."""
        files = (self._own_file, *_project_files(folder))
        stamp = tuple(_changed_at(file) for file in files)
        known = self._known_settings.get(folder)
        if known is None or known[0] != stamp:
            try:
                loaded = configuration.load(self._flags, os.environ, folder)
            except KumihimoError as error:
                raise SpawnFailed(str(error)) from error
            known = self._known_settings[folder] = (stamp, loaded)
        return known[1]


def order_of(
    run: Execution,
    agent: Agent,
    folder: RunFolder,
    place: WorkingPlace,
    own: configuration.Client,
    door: Door,
    prompt: str,
) -> Order:
    """What a CLI is told to do in this run."""
    own_home = own.env.get("HOME")
    return Order(
        prompt=prompt,
        working_directory=place.directory,
        private_folder=folder.private,
        system_prompt=agent.system_prompt,
        model=run.model,
        resume=run.conversation,
        door=door,
        writable=place.writable,
        # Where the CLI itself will look for the user's settings.
        home=Path(own_home) if own_home else place.home,
    )


def _git_folders(directory: Path) -> tuple[Path, ...]:
    try:
        pointer = (directory / ".git").read_text("utf-8")
    except OSError:
        return ()
    found = Path(directory, pointer.removeprefix("gitdir:").strip()).resolve()
    return (found.parent.parent,) if found.parent.name == "worktrees" else ()


@lru_cache(maxsize=256)
def _project_files(folder: Path) -> tuple[str, ...]:
    return tuple(str(place / configuration.PROJECT_FILE) for place in (folder, *folder.parents))


def _changed_at(file: str) -> float:
    try:
        return os.stat(file).st_mtime  # noqa: PTH116 - on the way of every start
    except OSError:
        return 0.0
