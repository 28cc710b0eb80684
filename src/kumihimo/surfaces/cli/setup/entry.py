"""Our server as an entry of a client's table of servers."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kumihimo.surfaces.cli.program import PROGRAM
from kumihimo.surfaces.cli.setup.client import Client
from kumihimo.surfaces.cli.setup.place import Scope

SERVER = "kumihimo"
ARGUMENTS = ["mcp", "serve"]

# How a server is reached. An entry that reaches it in another way loses these; whatever else stands in it (`env`, time
# limits, which tools are allowed) was decided by the user and stays.
REACHING = frozenset(
    {"type", "transport", "command", "args", "cwd", "url", "httpUrl", "serverUrl", "tcp", "headers", "http_headers",
     "env_http_headers", "bearer_token_env_var"}
)  # fmt: skip


def entry_of(client: Client, scope: Scope, argv: list[str], environ: Mapping[str, str]) -> dict[str, Any]:
    """What we write. A file that is committed must fit everybody's machine, so there the program has no folder."""
    command = PROGRAM if scope == "repo" else program_path(argv, environ)
    return {**client.extra, "command": command, "args": list(ARGUMENTS)}


def merged(existing: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """The entry as it is to be: what we have to say over what the user has said."""
    kept = {
        key: value for key, value in existing.items() if key not in REACHING or (key == "type" and value == "stdio")
    }
    return {**kept, **ours}


def program_path(argv: list[str], environ: Mapping[str, str]) -> str:
    """The running program, so that the client finds it whatever its PATH is; the bare name where no path would last.

    The way it is found on PATH comes first: that is a link which survives an upgrade, where what it points to may not.
    """
    found = shutil.which(PROGRAM, path=environ.get("PATH"))
    running = _running(argv)
    if found and running and not _same(found, running):
        found = None
    return next((path for path in (found, running) if path and _lasts(path)), PROGRAM)


def on_path(environ: Mapping[str, str]) -> bool:
    return shutil.which(PROGRAM, path=environ.get("PATH")) is not None


def _running(argv: list[str]) -> str | None:
    """The script that was started, unless it was started as a module."""
    script = argv[0] if argv else ""
    if Path(script).name not in (PROGRAM, SERVER):
        beside = Path(sys.executable).with_name(PROGRAM)
        script = str(beside) if beside.is_file() else ""
    elif os.sep not in script:
        script = shutil.which(script) or ""
    return str(Path(script).absolute()) if script and os.access(script, os.X_OK) else None


def _same(one: str, other: str) -> bool:
    """The same file, or its two names `kumi` and `kumihimo` in the same folder."""
    return Path(one).resolve().parent == Path(other).resolve().parent


def _lasts(path: str) -> bool:
    """Not in the cache of a tool that runs programs without installing them, and a name that any file can hold."""
    return Path(path).is_absolute() and ".cache" not in Path(path).parts and path.isprintable()
