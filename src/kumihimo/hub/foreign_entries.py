"""A server as another client writes it down, as an entry of ours."""

from __future__ import annotations

from typing import Any, cast

from kumihimo.hub.foreign_variables import Dialect, EditorsOwn, translated
from kumihimo.hub.tools import Table

DISABLED = "disabled"
_MADE_ELSEWHERE = {
    "envFile": "its environment is in a file: name what it needs of it in `env`",
    "headersHelper": "its headers are made by a program",
}


class Unusable(Exception):
    """Why a server is not taken over, for a person."""


def entry_of(raw: Any, dialect: Dialect) -> Table:
    """With our keys alone. Unusable where it can't be had, or is switched off."""
    if not isinstance(raw, dict):
        raise Unusable("it is no table")
    given = {key: value for key, value in cast("Table", raw).items() if value is not None}
    if given.get(DISABLED) is True or given.get("enabled") is False:
        raise Unusable("it is switched off there")
    for key, reason in _MADE_ELSEWHERE.items():
        if key in given:
            raise Unusable(reason)
    try:
        entry: Table = translated(_reached(given), dialect)
    except EditorsOwn as error:
        raise Unusable(str(error)) from None
    for key, more in _named_by_variables(given).items():
        entry[key] = {**more, **table(entry.get(key))}
    return entry | _limits(given)


def table(value: Any) -> Table:
    return cast("Table", value) if isinstance(value, dict) else {}


def _reached(given: Table) -> Table:
    for key, kind in (("httpUrl", "http"), ("url", None), ("serverUrl", None), ("tcp", "websocket")):
        if key in given:
            headers = given.get("headers", given.get("http_headers"))
            said = kind or given.get("type", given.get("transport"))
            parts = {"type": said, "url": given[key], "headers": headers}
            return {name: value for name, value in parts.items() if value}
    if "command" not in given:
        raise Unusable("it has neither a command nor a url")
    entry = {key: given[key] for key in ("command", "args", "env", "cwd") if given.get(key)}
    if isinstance(entry.get("env"), dict):
        # Some write numbers there, and mean their text.
        entry["env"] = {key: str(value) for key, value in cast("Table", entry["env"]).items()}
    return entry


def _named_by_variables(given: Table) -> dict[str, Table]:
    """What Codex names by the variable that holds it."""
    if "command" in given:
        listed = given.get("env_vars")
        names = (
            [table(name).get("name", name) for name in cast("list[Any]", listed)] if isinstance(listed, list) else []
        )
        # One that is not set is not passed on there; here it is empty.
        return {"env": {f"{name}": f"${{{name}:-}}" for name in names}} if names else {}
    headers = {key: f"${{{value}}}" for key, value in table(given.get("env_http_headers")).items()}
    if isinstance(bearer := given.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${{{bearer}}}"
    return {"headers": headers} if headers else {}


def _limits(given: Table) -> Table:
    limits: Table = {}
    seconds = given.get("tool_timeout_sec")
    milliseconds = round(seconds * 1000) if isinstance(seconds, int | float) else given.get("timeout")
    if isinstance(milliseconds, int) and milliseconds > 0:
        limits["timeout"] = milliseconds
    for ours, theirs in (("allow", ("includeTools", "enabled_tools")), ("deny", ("excludeTools", "disabled_tools"))):
        listed = next((given[key] for key in theirs if isinstance(given.get(key), list)), None)
        if listed:
            limits[ours] = [str(name) for name in cast("list[Any]", listed)]
    return limits
