"""Conditions that are put together as they are asked for, with their values in the same order."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


class Where:
    """`Where().equal("status", None)` adds nothing: what is not asked for is not filtered."""

    def __init__(self) -> None:
        self._conditions: list[str] = []
        self.values: list[Any] = []

    def equal(self, column: str, value: str | int | None) -> Where:
        return self if value is None else self.condition(f"{column} = ?", value)

    def among(self, column: str, values: Collection[str] | None) -> Where:
        if values is None:
            return self
        marks = ", ".join("?" for _ in values)
        return self.condition(f"{column} IN ({marks})", *values)

    def condition(self, text: str, *values: Any) -> Where:
        self._conditions.append(text)
        self.values.extend(values)
        return self

    @property
    def text(self) -> str:
        return "WHERE " + " AND ".join(self._conditions) if self._conditions else ""
