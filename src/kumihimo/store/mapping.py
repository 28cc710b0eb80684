"""How a value becomes a row and comes back: times as microseconds, flags as 0 and 1, inner values as JSON text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

V = TypeVar("V", bound=msgspec.Struct)
Row = Sequence[Any]
Cell = str | int | float | None

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def moment(count: int) -> datetime:
    return _EPOCH + timedelta(0, 0, count)


class _Update(NamedTuple):
    """An UPDATE of some columns: where each is in the value, and how it becomes a cell."""

    text: str
    columns: list[tuple[int, Callable[[Any], Any] | None]]


class TableMapping(Generic[V]):
    """The columns of one table, in the order of the fields of its value.

    `derived` are fields that other tables hold: the SQL that reads them, giving text joined by commas.
    """

    def __init__(
        self,
        table: str,
        value: type[V],
        *,
        times: Sequence[str] = (),
        flags: Sequence[str] = (),
        json: Mapping[str, Any] | None = None,
        derived: Mapping[str, str] | None = None,
    ) -> None:
        derived = derived or {}
        fields = value.__struct_fields__
        self.table = table
        self.stored = [field for field in fields if field not in derived]
        self.columns = ", ".join(self.stored)
        self.selected = ", ".join(derived.get(field, f"{table}.{field}") for field in fields)
        self.by_id = f"SELECT {self.selected} FROM {table} WHERE id = ?"
        self.marks = ", ".join("?" for _ in self.stored)
        self.assignments = ", ".join(f"{field} = ?" for field in self.stored if field != "id")
        self._value = value
        self._encoders = _by_column(self.stored, times, flags, json or {}, {}, decode=False)
        self._decoders = _by_column(fields, times, flags, json or {}, derived, decode=True)
        # Whether a row is the whole value.
        self.whole = not derived
        self.key = self.stored.index("id")
        self._id = fields.index("id")
        self._updates: dict[tuple[int, ...], _Update] = {}

    def value(self, row: Row) -> V:
        """The first row has a function written for this table: a loop over the columns costs as much as the database."""
        self.value = _written(self._value, self._decoders)  # pyright: ignore[reportAttributeAccessIssue]
        return self.value(row)

    def row(self, value: V) -> list[Cell]:
        """The cells for an INSERT of all columns."""
        cells = [*msgspec.structs.astuple(value)] if self.whole else [getattr(value, field) for field in self.stored]
        for index, encode in self._encoders:
            cell = cells[index]
            if cell is not None:
                cells[index] = encode(cell)
        return cells

    def difference(self, before: V, value: V) -> tuple[str, list[Cell]] | None:
        """The columns that are otherwise than before as those of an UPDATE, and their cells with the id at the end; None where
        nothing is. An index need not be touched whose columns are not named."""
        new = msgspec.structs.astuple(value)
        pairs = zip(msgspec.structs.astuple(before), new, strict=True)
        changed = tuple([index for index, (old, now) in enumerate(pairs) if old is not now and old != now])
        known = self._updates.get(changed)
        if known is None:
            known = self._updates[changed] = self._update_of(changed)
        if not known.columns:
            return None
        cells = [new[index] if encode is None else encode(new[index]) for index, encode in known.columns]
        cells.append(new[self._id])
        return known.text, cells

    def _update_of(self, changed: tuple[int, ...]) -> _Update:
        encoders = {self.stored[index]: encode for index, encode in self._encoders}
        fields = self._value.__struct_fields__
        stored = [index for index in changed if fields[index] in self.stored]
        return _Update(
            ", ".join(f"{fields[index]} = ?" for index in stored),
            [(index, _or_none(encoders.get(fields[index]))) for index in stored],
        )

    def row_for_update(self, value: V) -> list[Cell]:
        """The cells for an UPDATE of all columns: everything, then the id."""
        cells = self.row(value)
        cells.append(cells.pop(self.key))
        return cells


def _written(value: type[V], decoders: list[tuple[int, Callable[[Any], Any]]]) -> Callable[[Row], V]:
    """A function from a row to its value, with the decoding of each column in its place."""
    known: dict[str, Any] = {"value": value, "epoch": _EPOCH, "timedelta": timedelta}
    cells = [f"c{index}" for index in range(len(value.__struct_fields__))]
    shown = list(cells)
    for index, decode in decoders:
        cell = cells[index]
        if decode is moment:
            text = f"epoch + timedelta(0, 0, {cell})"
        else:
            known[f"decode{index}"] = decode
            text = f"decode{index}({cell})"
        shown[index] = f"None if {cell} is None else {text}"
    source = f"def read(row):\n    {', '.join(cells)}, = row\n    return value({', '.join(shown)})\n"
    exec(source, known)  # noqa: S102 - made from the names of our own columns
    return known["read"]


def _by_column(
    fields: Sequence[str],
    times: Sequence[str],
    flags: Sequence[str],
    json: Mapping[str, Any],
    derived: Mapping[str, str],
    *,
    decode: bool,
) -> list[tuple[int, Callable[[Any], Any]]]:
    found: list[tuple[int, Callable[[Any], Any]]] = []
    for index, field in enumerate(fields):
        if field in times:
            found.append((index, moment if decode else microseconds))
        elif field in flags:
            found.append((index, bool if decode else int))
        elif field in json:
            found.append((index, _decoder(json[field]) if decode else _json_text))
        elif field in derived:
            found.append((index, _split))
    return found


def _decoder(kind: Any) -> Callable[[Any], Any]:
    """Inner values are frozen and few are different, so the same text may give the same value again."""
    return lru_cache(1_024)(msgspec.json.Decoder(kind).decode)


def _or_none(encode: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    return None if encode is None else lambda value: None if value is None else encode(value)


def _json_text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _split(joined: str) -> tuple[str, ...]:
    return tuple(joined.split(",")) if joined else ()
