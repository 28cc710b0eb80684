"""How much a schema has to be looked through for one value. A few lines that refer to each other twice can ask for
more than anybody could ever carry out, and whoever holds arguments against them would stand still meanwhile."""

from __future__ import annotations

from typing import Any, cast

MOST = 50_000
# What is held against the same value again. Anything else is about a part of it, and arguments have few parts.
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_TABLES = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_NAMES = ("$anchor", "$dynamicAnchor")


def is_boundless(schema: Any) -> bool:
    """Whether holding one value against it takes more steps than are ever needed."""
    try:
        return _Counting(schema).steps(schema) > MOST
    except RecursionError:
        return True


class _Counting:
    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._named: dict[str, Any] = {}
        # By identity: None while it is being counted.
        self._known: dict[int, int | None] = {}
        self._find_names(schema)

    def steps(self, schema: Any) -> int:
        if not isinstance(schema, dict):
            return 1
        known = self._known.get(id(cast("object", schema)), 0)
        if known != 0:
            # One that refers to itself for the same value is told as a mistake by whoever carries it out.
            return known or 1
        self._known[id(cast("object", schema))] = None
        found = min(MOST + 1, 1 + sum(map(self.steps, self._applied(cast("dict[str, Any]", schema)))))
        self._known[id(cast("object", schema))] = found
        return found

    def _applied(self, schema: dict[str, Any]) -> list[Any]:
        applied = [schema[word] for word in _SINGLE if word in schema]
        for word in _LISTS:
            if isinstance(schema.get(word), list):
                applied += schema[word]
        for word in _TABLES:
            if isinstance(schema.get(word), dict):
                applied += schema[word].values()
        applied += [self._referred(schema[word]) for word in _REFERENCES if isinstance(schema.get(word), str)]
        return applied

    def _referred(self, reference: str) -> Any:
        """What it stands for; nothing where that is not in this schema."""
        if reference in self._named:
            return self._named[reference]
        _, sign, pointer = reference.partition("#")
        if not sign or (pointer and not pointer.startswith("/")):
            return None
        place = self._root
        for step in pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(place, dict):
                place = cast("dict[str, Any]", place).get(key)
            elif isinstance(place, list) and key.isdecimal() and int(key) < len(cast("list[Any]", place)):
                place = cast("list[Any]", place)[int(key)]
            else:
                return None
        return place

    def _find_names(self, schema: Any) -> None:
        waiting = [schema]
        while waiting:
            place = waiting.pop()
            if isinstance(place, list):
                waiting += cast("list[Any]", place)
            elif isinstance(place, dict):
                table = cast("dict[str, Any]", place)
                self._named |= {f"#{table[name]}": table for name in _NAMES if isinstance(table.get(name), str)}
                if isinstance(table.get("$id"), str):
                    self._named[table["$id"]] = table
                waiting += table.values()
