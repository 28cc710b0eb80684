"""What we know of an AI client: where it keeps its MCP servers, and in which form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from kumihimo.surfaces.cli.setup.place import Place, Scope

Oddity = Literal["comment", "trailing_comma"]


class Client(Struct, frozen=True):
    """One client.

    `servers` is the key of its table of servers. `files` has a path for every scope that the client knows. `extra` stands in
    an entry besides the command. `refuses` are the liberties with JSON that are known to keep the client from reading its
    file: we keep them, and warn.
    """

    name: str
    title: str
    form: Literal["json", "toml"]
    servers: str
    files: dict[Scope, Callable[[Place], str]]
    extra: dict[str, Any] = {}
    refuses: frozenset[Oddity] = frozenset()

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return tuple(self.files)
