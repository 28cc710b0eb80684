"""Numbers without a fraction as the integers that they are: to JSON, and to a schema, 2.0 is 2."""

from __future__ import annotations

from typing import Any, cast

# Up to here a float is exactly the number that was written.
_EXACT = 2**53


def whole(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _EXACT else value
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {name: whole(inner) for name, inner in entries.items()}
    if isinstance(value, list):
        return [whole(inner) for inner in cast("list[Any]", value)]
    return value
