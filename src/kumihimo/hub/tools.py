"""A tool as the hub sees it, and its arguments held against its schema."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, cast

import jsonschema_rs

from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.schema_size import is_boundless

Table = dict[str, Any]
CanExecute = Callable[[Any], "bool | Awaitable[bool]"]
_TOLD_MISTAKES = 8


class Tool:
    """`definition` is what its server tells about it, unchanged."""

    def __init__(self, server: str, definition: Mapping[str, Any], version: str = "") -> None:
        self.server = server
        self.definition = dict(definition)
        self.short_name = str(definition.get("name", ""))
        self.description = str(definition.get("description") or "")
        self.version = str(definition.get("version") or version)
        self.input_schema: Any = definition.get("inputSchema", {"type": "object"})
        self.output_schema: Any = definition.get("outputSchema")
        told = definition.get("annotations")
        hints = cast("Table", told) if isinstance(told, dict) else {}
        # Nothing but JSON's `true`: "true" and 1 are somebody's mistake, and a mistake must not make a call repeatable.
        self.read_only = hints.get("readOnlyHint") is True
        self.idempotent = hints.get("idempotentHint") is True

    @property
    def name(self) -> str:
        return f"{self.server}:{self.short_name}"

    @property
    def repeatable(self) -> bool:
        """Whether carrying it out twice does no harm."""
        return self.read_only or self.idempotent

    @cached_property
    def _validator(self) -> Any:
        """None where its schema is none, or one that nobody could ever carry out: then the server is the only judge of its
        arguments."""
        if is_boundless(self.input_schema):
            return None
        for make in (jsonschema_rs.validator_for, jsonschema_rs.Draft202012Validator):
            try:
                # Offline: a schema must not make us fetch what it names.
                return make(self.input_schema, offline=True)
            except (ValueError, jsonschema_rs.ReferencingError):
                # An unknown dialect is read as the one that the protocol has by default.
                continue
        return None

    def check(self, params: Any) -> None:
        """HubError INVALID_PARAMS where they do not fit the schema."""
        if not isinstance(params, dict):
            raise HubError(Code.INVALID_PARAMS, f"{self.name}: the arguments are an object, by their names")
        validator = self._validator
        try:
            mistakes = [] if validator is None else _mistakes(validator, cast("Table", params))
        except ValueError as error:
            raise HubError(
                Code.INVALID_PARAMS,
                f"{self.name}: the arguments are nested too deeply to be checked ({error}). Nothing was sent.",
                {"server": self.server},
            ) from error
        if not mistakes:
            return
        first = mistakes[0]
        place = ".".join(map(str, first["path"]))
        raise HubError(
            Code.INVALID_PARAMS,
            f"{self.name}: {first['message']}{f' (at {place})' if place else ''}. Nothing was sent.",
            {"server": self.server, "mistakes": mistakes},
        )


def _mistakes(validator: Any, params: Table) -> list[Table]:
    if validator.is_valid(params):
        return []
    mistakes: list[Table] = []
    for error in validator.iter_errors(params):
        mistakes.append({"path": list(error.instance_path), "message": error.message[:500]})
        if len(mistakes) == _TOLD_MISTAKES:
            break
    return mistakes
