"""The command of a session: what somebody else pastes into a shell to start the worker of a task."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from kumihimo.services.workers import Worker
from kumihimo.settings import Settings


def session_command(settings: Settings, worker: Worker) -> str:
    """Complete: it needs nothing of the shell that it is pasted into, neither its folder nor its environment."""
    run = worker.execution
    words = [*_program(), "--db", settings.database, "session", "exec", run.id]
    return f"cd {shlex.quote(run.working_directory or '.')} && {_path()}{_home(settings)}{shlex.join(words)}"


def _program() -> list[str]:
    """This very program: what is called `kumi` in somebody's shell may be another one."""
    beside = Path(sys.executable).with_name("kumi")
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "kumihimo"]


def _path() -> str:
    """Where the agent's program was found by who asked; what the shell has itself comes first."""
    known = os.environ.get("PATH")
    return f'PATH="$PATH":{shlex.quote(known)} ' if known else ""


def _home(settings: Settings) -> str:
    """The variables that say where our own files are."""
    if settings.config_folder == settings.data_folder == settings.state_folder:
        return f"KUMI_HOME={shlex.quote(str(settings.state_folder))} "
    folders = {
        "XDG_CONFIG_HOME": settings.config_folder,
        "XDG_DATA_HOME": settings.data_folder,
        "XDG_STATE_HOME": settings.state_folder,
    }
    return "".join(f"{name}={shlex.quote(str(folder.parent))} " for name, folder in folders.items())
