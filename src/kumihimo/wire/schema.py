"""JSON schemas of tools."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import Raw

Schema = Mapping[str, Any]
ANY_OBJECT: Final[Schema] = MappingProxyType({"type": "object"})


class EncodedSchema(Mapping[str, Any]):
    """A schema that comes as JSON: asked for when it is first listed, listed as it is, decoded when one looks into it."""

    def __init__(self, encoded: Callable[[], Raw]) -> None:
        self._get = encoded
        self._encoded: Raw | None = None
        self._decoded: dict[str, Any] | None = None

    @property
    def encoded(self) -> Raw:
        if self._encoded is None:
            self._encoded = self._get()
        return self._encoded

    def _schema(self) -> dict[str, Any]:
        if self._decoded is None:
            self._decoded = msgspec.json.decode(self.encoded, type=dict[str, Any])
        return self._decoded

    def __getitem__(self, key: str) -> Any:
        return self._schema()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema())

    def __len__(self) -> int:
        return len(self._schema())


def listed(schema: Schema) -> Any:
    """As a list of tools shows it."""
    return schema.encoded if type(schema) is EncodedSchema else dict(schema)
