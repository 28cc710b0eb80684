"""The agent CLIs: are they there, recent enough, and logged in. None of them is asked anything that costs a token."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kumihimo.domain.finding import Finding
from kumihimo.engine.agents import health, registry
from kumihimo.engine.agents.logins import LOGINS, login_status, looked_for
from kumihimo.services.diagnosis.examination import Examination
from kumihimo.settings import Client

_VERSION_SECONDS = 3.0
# The oldest whose stream and options are those that we speak, and how to get a newer one.
_OLDEST: dict[str, tuple[int, ...]] = {
    "claude-code": (2, 0), "codex": (0, 50), "gemini-cli": (0, 11), "opencode": (1, 0), "copilot": (0, 0, 400),
    "qwen-code": (0, 2),
}  # fmt: skip
_INSTALL = {
    "claude-code": "`npm install -g @anthropic-ai/claude-code`",
    "codex": "`npm install -g @openai/codex`",
    "gemini-cli": "`npm install -g @google/gemini-cli`",
    "opencode": "`npm install -g opencode-ai`",
    "copilot": "`npm install -g @github/copilot`",
    "qwen-code": "`npm install -g @qwen-code/qwen-code`",
    "cursor": "https://cursor.com/cli",
}


def look_at_clients(examination: Examination, known: Mapping[str, str]) -> list[Finding]:
    """All at once: each may take a while to say its version. `known` has the versions of programs that have said it before."""
    names = [name for name in registry.NAMES if name in _INSTALL]

    def look(name: str) -> Finding:
        return _look_at(examination, name, known)

    with ThreadPoolExecutor(len(names), thread_name_prefix="kumi-doctor") as pool:
        return list(pool.map(look, names))


def _look_at(examination: Examination, name: str, known: Mapping[str, str]) -> Finding:
    client = registry.find(name)
    own = examination.settings.clients.get(name, Client())
    program = health.find_program(client, own)
    if program is None and own.command:
        return examination.warning(name, "client_command_missing", program=own.command[0], client=name)
    if program is None:
        return examination.warning(
            name, "client_missing", program=client.programs[0], client=name, install=_INSTALL[name]
        )
    version = known.get(program) or health.version(client, own, _VERSION_SECONDS)
    if own.command:
        # A program of the user's own, which may be anything.
        return examination.plain(name, f"{program} {version or ''}".strip())
    if version is None:
        return examination.warning(name, "client_silent", program=program, seconds=f"{_VERSION_SECONDS:g}")
    if _numbers(version) < _OLDEST.get(name, ()):
        needed = ".".join(map(str, _OLDEST[name]))
        return examination.warning(
            name, "client_old", program=program, found=version, needed=needed, install=_INSTALL[name]
        )
    environ = {**os.environ, **own.env}
    home = Path(environ.get("HOME") or "/")
    if login_status(name, environ, home) == "missing":
        looked = looked_for(name, environ, home)
        return examination.warning(
            name, "client_logged_out", program=program, found=version, looked=looked, login=f"`{LOGINS[name].advice}`"
        )
    return examination.plain(name, f"{program} {version}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
