"""The starter: from a pair that may start to an agent at work, in a wrapper that outlives us."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from kumihimo import settings as configuration
from kumihimo.domain.errors import KumihimoError
from kumihimo.engine.agents import registry
from kumihimo.engine.agents.client import TOKEN_VARIABLE, Client, Door, Order, Start
from kumihimo.engine.agents.starting import SpawnFailed, client_named, lay_out, program_of
from kumihimo.engine.processes.nursery import Nursery
from kumihimo.engine.processes.wrapper import MARKER, RunFolder, script
from kumihimo.runner.instance import Instance
from kumihimo.runner.kick import PASSKEY_VARIABLE, kick_prompt
from kumihimo.runner.place import Place
from kumihimo.runner.records import Record, Records
from kumihimo.runner.secrets import secrets_of
from kumihimo.settings import Settings


class Errand(Struct, frozen=True):
    """What an instance is given to begin with."""

    record: Record
    place: Place
    passkey: str
    token: str | None
    worker_url: str
    model: str | None = None

    def __repr__(self) -> str:
        return f"Errand({self.record.id})"


class Starter:
    def __init__(self, settings: Settings, records: Records, nursery: Nursery) -> None:
        self._settings = settings
        self._records = records
        self._nursery = nursery

    def start(self, errand: Errand) -> Instance:
        """Start it. SpawnFailed, with nothing started, where something that it needs is not there."""
        record, directory = errand.record, errand.place.directory
        client = client_named(record.client)
        own = self._settings_at(directory).clients.get(record.client, configuration.Client())
        folder = self._records.folder_of(record.id)
        start = self._order(client, errand, folder, own)
        argv = [*program_of(client, own), *start.argv, *own.args]
        environment = {
            **start.environment,
            **own.env,
            MARKER: record.id,
            TOKEN_VARIABLE: errand.token or "",
            "PWD": str(directory),
        }
        try:
            lay_out(folder, start)
            shell = self._nursery.launch(script(folder, argv, environment, directory))
        except (OSError, ValueError) as error:
            raise SpawnFailed(str(error)) from error
        secrets = secrets_of([errand.passkey, errand.token or ""], {**os.environ, **environment})
        return Instance(record, client, folder, secrets, shell.pidfd)

    def adopt(self, record: Record, passkey: str) -> Instance:
        """One that was started before our time. Its token is known by its looks."""
        try:
            client = client_named(record.client)
        except SpawnFailed:
            # Of a later version than ours: its end is told all the same.
            client = registry.find("command")
        try:
            own = self._settings_at(Path(record.directory)).clients.get(record.client, configuration.Client()).env
        except SpawnFailed:
            own = {}
        return Instance(
            record, client, self._records.folder_of(record.id), secrets_of([passkey], {**os.environ, **own})
        )

    def close(self) -> None:
        self._nursery.close()

    def _order(self, client: Client, errand: Errand, folder: RunFolder, own: configuration.Client) -> Start:
        """How the CLI is started: with the passkey in what it reads, or in its environment where the prompt is an argument."""

        def start(passkey: str | None) -> Start:
            order = Order(
                prompt=kick_prompt(errand.record.pair, passkey, errand.place.directory, self._settings.language),
                working_directory=errand.place.directory,
                private_folder=folder.private,
                model=errand.model,
                door=Door(errand.worker_url),
                writable=errand.place.writable,
                home=Path(own.env.get("HOME") or Path.home()),
            )
            return client.start(order)

        told = start(errand.passkey)
        if not any(errand.passkey in word for word in told.argv):
            return told
        hidden = start(None)
        return Start(
            hidden.argv,
            {**hidden.environment, PASSKEY_VARIABLE: errand.passkey},
            hidden.stdin,
            hidden.files,
            hidden.links,
        )

    def _settings_at(self, folder: Path) -> Settings:
        """The settings that hold in a folder: those of its repository win over the user's."""
        try:
            return configuration.load(configuration.Flags(), os.environ, folder)
        except KumihimoError as error:
            raise SpawnFailed(str(error)) from error
