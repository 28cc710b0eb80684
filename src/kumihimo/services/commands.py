"""The command of a session: what somebody else pastes into a shell to start the worker of a task."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from kumihimo.services.workers import Worker
from kumihimo.settings import Flags, Settings, load


def session_command(settings: Settings, worker: Worker) -> str:
    """Complete: it needs nothing of the shell that it is pasted into, neither its folder nor its environment."""
    run = worker.execution
    folder = run.working_directory or "."
    homes = _homes(settings)
    words = [*_program(), *_database(settings, homes, Path(folder)), "session", "exec", run.id]
    variables = "".join(f"{name}={shlex.quote(value)} " for name, value in homes.items())
    return f"cd {shlex.quote(folder)} && {_path()}{variables}{shlex.join(words)}"


def _database(settings: Settings, homes: dict[str, str], folder: Path) -> list[str]:
    """Only where the settings there would not say it themselves: an address may hold a password, and who reads the command
    need not know it."""
    there = load(Flags(), homes, folder).database
    return [] if there == settings.database else ["--db", settings.database]


def _program() -> list[str]:
    """This very program: what is called `kumi` in somebody's shell may be another one."""
    beside = Path(sys.executable).with_name("kumi")
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "kumihimo"]


def _path() -> str:
    """Where the agent's program was found by who asked; what the shell has itself comes first."""
    known = os.environ.get("PATH")
    return f'PATH="$PATH":{shlex.quote(known)} ' if known else ""


def _homes(settings: Settings) -> dict[str, str]:
    """The variables that say where our own files are."""
    if settings.config_folder == settings.data_folder == settings.state_folder:
        return {"KUMI_HOME": str(settings.state_folder)}
    return {
        "XDG_CONFIG_HOME": str(settings.config_folder.parent),
        "XDG_DATA_HOME": str(settings.data_folder.parent),
        "XDG_STATE_HOME": str(settings.state_folder.parent),
    }
