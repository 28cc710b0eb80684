# pathlib costs more than the rest of a start.
# ruff: noqa: PTH111
"""The MCP servers that a CLI was given, found where that CLI looks for them."""

from __future__ import annotations

import os

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.arguments import options
from kumihimo.testing.agents.files import exists, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Server:
    def __init__(self, name: str, url: str, headers: dict[str, str]) -> None:
        self.name = name
        self.url = url
        self.headers = headers


def find(client: str, arguments: list[str], wanted: str | None) -> Server | None:
    """The server of that name, or the only one. Servers on stdio are not for us."""
    found = {name: settings for name, settings in _settings(client, arguments).items() if _url(settings)}
    if wanted is None:
        wanted = "kumihimo" if "kumihimo" in found else next(iter(found), None)
    if wanted is None or wanted not in found:
        return None
    settings = _expand(found[wanted])
    headers: dict[str, str] = {**settings.get("headers", {}), **settings.get("http_headers", {})}
    for header, variable in settings.get("env_http_headers", {}).items():
        headers[header] = os.environ.get(variable, "")
    if variable := settings.get("bearer_token_env_var"):
        headers["Authorization"] = "Bearer " + os.environ.get(variable, "")
    return Server(wanted, _url(settings), headers)


def _url(settings: dict[str, Any]) -> str:
    return settings.get("httpUrl") or settings.get("url") or settings.get("serverUrl") or ""


def _settings(client: str, arguments: list[str]) -> dict[str, dict[str, Any]]:
    servers: dict[str, dict[str, Any]] = {}
    # A program of a user's own gets its door by the environment.
    if url := os.environ.get("KUMI_MCP_URL"):
        servers["kumihimo"] = {"url": url, "headers": {"Authorization": "Bearer ${KUMI_RUN_TOKEN}"}}
    if client == "codex":
        return {**servers, **_of_codex(arguments)}
    documents: list[dict[str, Any] | None] = []
    if client in ("gemini-cli", "qwen-code"):
        documents += _of_home(client)
    elif client == "opencode":
        for text in (os.environ.get("OPENCODE_CONFIG"), "opencode.json", os.environ.get("OPENCODE_CONFIG_CONTENT")):
            documents.append(_document(text))
    elif client in ("cursor", "copilot"):
        documents += [json_text.read(path) for path in _files(client)]
    for value in options(arguments, ("--mcp-config", "--additional-mcp-config")):
        documents.append(_document(value.removeprefix("@")))
    for document in documents:
        if document is not None:
            servers.update(document.get("mcpServers") or document.get("mcp") or _only_servers(document))
    return servers


def _only_servers(document: dict[str, Any]) -> dict[str, Any]:
    """A document may be the servers themselves."""
    return {name: value for name, value in document.items() if isinstance(value, dict) and "url" in value}


def _document(text: str | None) -> dict[str, Any] | None:
    """JSON as it is, or the path to it."""
    if not text:
        return None
    if text.lstrip().startswith("{"):
        return json_text.loads(text)
    return json_text.read(text)


def _of_home(client: str) -> list[dict[str, Any] | None]:
    """Settings of the user, then of the project, then of the system: the later ones win."""
    variable, folder = ("GEMINI_CLI_HOME", ".gemini") if client == "gemini-cli" else ("QWEN_HOME", ".qwen")
    home = os.environ.get(variable) or os.path.expanduser("~")
    paths = [f"{home}/{folder}/settings.json", f"{home}/settings.json", f"{folder}/settings.json"]
    system = os.environ.get(f"{'GEMINI' if client == 'gemini-cli' else 'QWEN'}_CLI_SYSTEM_SETTINGS_PATH")
    return [json_text.read(path) for path in [*paths, *([system] if system else [])]]


def _files(client: str) -> list[str]:
    home = os.path.expanduser("~")
    if client == "cursor":
        return [f"{home}/.cursor/mcp.json", ".cursor/mcp.json"]
    return [f"{os.environ.get('COPILOT_HOME') or home + '/.copilot'}/mcp-config.json"]


def _of_codex(arguments: list[str]) -> dict[str, dict[str, Any]]:
    """`config.toml`, and over it each `-c key=value`."""
    import tomllib

    home = os.environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    path = f"{home}/config.toml"
    settings: dict[str, Any] = tomllib.loads(read_text(path)) if exists(path) else {}
    for value in options(arguments, ("-c", "--config")):
        try:
            _merge(settings, tomllib.loads(value))
        except tomllib.TOMLDecodeError:
            # A value without quotes is a string, and no server.
            continue
    return settings.get("mcp_servers", {})


def _merge(into: dict[str, Any], other: dict[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            into[key] = value


def _expand(value: Any) -> Any:
    """`${NAME}`, `${NAME:-other}`, `${env:NAME}`, `{env:NAME}` and `$NAME` are variables in one CLI or another."""
    if isinstance(value, dict):
        return {key: _expand(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(value, str) or ("$" not in value and "{env:" not in value):
        return value
    import re

    def variable(match: re.Match[str]) -> str:
        return os.environ.get(match["name"] or match["bare"], match["other"] or "")

    return re.sub(r"\$?\{(?:env:)?(?P<name>\w+)(?::-(?P<other>[^}]*))?\}|\$(?P<bare>\w+)", variable, value)
