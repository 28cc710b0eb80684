"""This program as a server of somebody's configuration. A hub that had it would act as the owner for every agent."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import msgspec

_PROGRAMS = ("kumi", "kumihimo")
_TOOLSETS = ("lead", "editor", "runner", "worker", "manager", "resident", "hub")
# Words that others hardly have in that place.
_ONLY_OURS = ("lead", "hub", "resident")
# The usual one, and those that are taken where it is not free.
_PORTS = range(9696, 9796)
# A shell may be given all of them as one.
_WORD = re.compile(r"[^\s;&|'\"()]+")
# `kumihimo[oauth]`, `kumihimo@latest`, `kumihimo>=1` and `kumi.exe` are all the same program.
_MORE = re.compile(r"[\[@=<>~!:]|\.(?:exe|git|__main__)\b")


def is_own(name: str, entry: Mapping[str, Any]) -> bool:
    """Whether it is this program that would be reached: started as a server, or where it listens on this machine, also
    through another program that is told where."""
    args = entry.get("args")
    written = (entry.get("command"), *(cast("Sequence[Any]", args) if isinstance(args, list | tuple) else ()))
    words = [word for part in written if isinstance(part, str) for word in _WORD.findall(part)]
    return _starts_us(words) or any(_reaches_us(name, place) for place in (*words, str(entry.get("url", ""))))


def alone_in(file: Path) -> bool:
    """Whether a JSON file that can be read names this program and no other server."""
    try:
        servers = msgspec.json.decode(file.read_bytes(), type=_Servers).servers
    except (OSError, ValueError, RecursionError):
        return False
    return bool(servers) and all(is_own(name, entry) for name, entry in servers.items())


class _Servers(msgspec.Struct):
    servers: dict[str, dict[str, Any]] = msgspec.field(name="mcpServers", default_factory=dict[str, dict[str, Any]])


def _starts_us(words: Sequence[str]) -> bool:
    """Each is looked for behind the one before: somebody else's server may be told of a folder that is called as we are."""
    told = (_MORE.split(PurePath(word).name)[0] for word in words)
    return any(word in _PROGRAMS for word in told) and "mcp" in told and "serve" in told


def _reaches_us(name: str, place: str) -> bool:
    if "://" not in place:
        return False
    try:
        url = urlsplit(place)
        host, port = url.hostname or "", url.port
    except ValueError:
        return False
    door, _, toolsets = unquote(url.path).strip("/").partition("/")
    if door != "mcp" or not _is_here(host.rstrip(".")):
        return False
    parts = toolsets.split(",")
    if name in _PROGRAMS or not all(it in _TOOLSETS for it in parts if toolsets):
        return name in _PROGRAMS
    # Other programs may have such an address: ours is known by where it listens unless it was told otherwise, or by more of it.
    return toolsets in _ONLY_OURS or len(parts) > 1 or (port is not None and port in _PORTS)


def _is_here(host: str) -> bool:
    here = ("localhost", "::1", "::", "0.0.0.0", os.uname().nodename.lower())  # noqa: S104 - nothing is bound
    return host in here or host.startswith("127.") or host.endswith(".localhost")
