"""Where in a settings file a mistake is, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from kumihimo.domain.agent import CLIENTS
from kumihimo.domain.errors import ConfigError


def located(path: Path, text: str, reason: str) -> ConfigError:
    """The mistake with its line, found by the last key that the message names."""
    keys = re.findall(r"`(?:\$\.)?([^`]*)`", reason)
    key = keys[0].rpartition(".")[2].strip("[]") if "unknown field" in reason and keys else (keys[-1] if keys else "")
    key = re.split(r"[.\[]", key)[-1].rstrip("]") if "unknown field" not in reason else key
    where = _where(path, text, rf"(^|[.\[\s]){re.escape(key)}\s*(=|\])" if key else None)
    if "unknown field" in reason:
        return ConfigError(where, "unknown_key", key=key, near=None)
    return ConfigError(where, "bad_setting", reason=reason)


def require_client(path: Path, text: str, agent: str, client: str | None) -> None:
    """Refuse a definition of an agent whom no CLI that we know can play."""
    if client is None or client in CLIENTS:
        return
    where = _where(path, text, rf"client\s*=\s*[\"']{re.escape(client)}[\"']")
    reason = f"the agent {agent!r} has the client {client!r}; known clients: {', '.join(CLIENTS)}"
    raise ConfigError(where, "bad_setting", reason=reason)


def require_known_clients(path: Path, text: str, clients: Iterable[str]) -> None:
    """Refuse settings of a client that there is none of: nobody would ever read them."""
    unknown = next((name for name in clients if name not in CLIENTS), None)
    if unknown is None:
        return
    from difflib import get_close_matches

    where = _where(path, text, rf"clients\s*\.\s*[\"']?{re.escape(unknown)}\b|^\s*[\"']?{re.escape(unknown)}[\"']?\s*=")
    close = get_close_matches(unknown, CLIENTS, n=1, cutoff=0.5)
    near = f"did you mean {close[0]!r}? " if close else ""
    raise ConfigError(
        where, "bad_setting", reason=f"there is no client {unknown!r}; {near}Known clients: {', '.join(CLIENTS)}"
    )


def _where(path: Path, text: str, wanted: str | None) -> str:
    numbered = [n for n, line in enumerate(text.splitlines(), 1) if wanted and re.search(wanted, line)]
    return f"{path}:{numbered[0]}" if numbered else str(path)
