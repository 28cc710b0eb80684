"""What `kumi doctor` looks at behind the hub: mistakes in its files, programs that are not there, walls that can't be raised."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from kumihimo.domain.errors import ConfigError
from kumihimo.domain.finding import Finding, Verdict
from kumihimo.domain.messages import render
from kumihimo.domain.messages.findings import finding_text
from kumihimo.hub.configuration import ServerConfig
from kumihimo.hub.configuration_file import load
from kumihimo.hub.places import files_of, project_folder
from kumihimo.settings import Settings

_PROBE_SECONDS = 5.0


def look_at_hub(settings: Settings) -> list[Finding]:
    """Nothing where no file says that there is a hub. No server is started."""
    folder = project_folder(settings.folder)
    files = files_of(folder, settings)
    if not files:
        return []
    try:
        servers = [server.at(folder) for server in load(files, os.environ, folder).servers]
    except ConfigError as error:
        return [Finding("hub", "warning", render(error, settings.language))]
    found = [*_missing(settings, folder, servers), *_walls(settings, servers)]
    named = ", ".join(str(file) for file in files)
    return found or [_told(settings, "hub", "ok", "hub_fine", count=len(servers), files=named)]


def _missing(settings: Settings, folder: Path, servers: list[ServerConfig]) -> list[Finding]:
    return [
        _told(settings, "hub", "warning", "hub_program_missing", server=server.name, program=server.command)
        for server in servers
        if server.command is not None and not _is_there(server.command, folder, server)
    ]


def _is_there(program: str, folder: Path, server: ServerConfig) -> bool:
    if "/" in program:
        return (folder / (server.cwd or "") / program).exists()
    return shutil.which(program, path=server.env.get("PATH") or os.environ.get("PATH", os.defpath)) is not None


def _walls(settings: Settings, servers: list[ServerConfig]) -> list[Finding]:
    names = ", ".join(server.name for server in servers if server.sandbox is not None)
    if not names:
        return []
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        return [_told(settings, "sandbox", "warning", "sandbox_missing", servers=names)]
    problem = _tried(bubblewrap)
    if problem is not None:
        return [_told(settings, "sandbox", "warning", "sandbox_broken", servers=names, problem=problem)]
    return []


def _tried(bubblewrap: str) -> str | None:
    """What it says where it can't raise walls around a program that does nothing."""
    command = [bubblewrap, "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--", "true"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return None if ended.returncode == 0 else ended.stderr.strip()[-300:] or f"exit code {ended.returncode}"


def _told(settings: Settings, name: str, verdict: Verdict, key: str, **facts: object) -> Finding:
    return Finding(name, verdict, finding_text(key, settings.language, **facts))
