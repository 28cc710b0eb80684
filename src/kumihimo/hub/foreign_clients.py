"""Where other clients keep their servers, and in which form. A new client is a line in `CLIENTS`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

from kumihimo.hub.foreign_entries import DISABLED, table
from kumihimo.hub.foreign_variables import Dialect
from kumihimo.hub.tools import Table

# Comments, and commas before a closing bracket, which some clients allow; texts are matched first, so that none is cut.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)


class Unreadable(Exception):
    """Why a file can't be read, for a person."""


class Source(NamedTuple):
    """`servers` is the table of servers in a document; `of_project` one that the user's document has for a folder."""

    name: str
    in_project: tuple[str, ...]
    in_home: tuple[str, ...]
    dialect: Dialect
    servers: Callable[[Table], Table]
    of_project: Callable[[Table, Path], Table] = lambda _document, _folder: {}


def document(file: Path) -> Table:
    """Unreadable where it is none."""
    try:
        text = file.read_text("utf-8-sig")
        value: Any = tomllib.loads(text) if file.suffix == ".toml" else _json(text)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise Unreadable("It is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"It is not {'TOML' if file.suffix == '.toml' else 'JSON'}: {error}") from None
    if not isinstance(value, dict):
        raise Unreadable("It is no table")
    return cast("Table", value)


def _json(text: str) -> Any:
    if not text.strip():
        return {}
    plain = _COMMENT.sub(lambda found: found[1] or " ", text)
    return json.loads(_LAST_COMMA.sub(lambda found: found[1] or "", plain))


def _servers(document: Table) -> Table:
    return table(document.get("mcpServers"))


def _codex(document: Table) -> Table:
    return table(document.get("mcp_servers"))


def _vscode(document: Table) -> Table:
    return table(document.get("servers"))


def _gemini(document: Table) -> Table:
    """With the two lists by which the user may have taken servers out."""
    lists = table(document.get("mcp"))
    allowed, excluded = lists.get("allowed"), lists.get("excluded")
    servers = dict(_servers(document))
    for name in servers:
        out = isinstance(excluded, list) and name in excluded
        if out or (isinstance(allowed, list) and allowed and name not in allowed):
            servers[name] = {**table(servers[name]), DISABLED: True}
    return servers


def _claude(document: Table, folder: Path) -> Table:
    projects = table(document.get("projects"))
    here = next((key for key in (str(folder), str(folder.resolve())) if key in projects), "")
    return _servers(table(projects.get(here)))


_PROFILES = (".config/", "Library/Application Support/", "AppData/Roaming/")
CLIENTS = (
    Source("claude-code", (".mcp.json",), (".claude.json",), "claude", _servers, _claude),
    Source("cursor", (".cursor/mcp.json",), (".cursor/mcp.json",), "editor", _servers),
    Source(
        "vscode",
        (".vscode/mcp.json",),
        tuple(f"{profile}Code/User/mcp.json" for profile in _PROFILES),
        "editor",
        _vscode,
    ),
    Source("codex", (".codex/config.toml",), (".codex/config.toml",), "plain", _codex),
    Source("gemini-cli", (".gemini/settings.json",), (".gemini/settings.json",), "gemini", _gemini),
    Source(
        "claude-desktop",
        (),
        tuple(f"{profile}Claude/claude_desktop_config.json" for profile in _PROFILES),
        "plain",
        _servers,
    ),
)
