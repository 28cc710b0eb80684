"""How people name things: by id, by an unambiguous prefix of the id, by name or number; and what they may have meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from kumihimo.domain.errors import AmbiguousReference, NotFound
from kumihimo.store.repository import Repository

V = TypeVar("V", bound=msgspec.Struct)

# The greatest number that both databases take.
_GREATEST = 2**63 - 1


def by_id(repository: Repository[V], prefix: str, reference: str) -> V | None:
    """By the id or the beginning of one. A prefix that fits several is an error that names some of them."""
    if not reference.startswith(prefix) or not reference.isascii() or "\0" in reference:
        return None
    exact = repository.get(reference)
    if exact is not None:
        return exact
    found = repository.starting_with(reference)
    if len(found) > 1:
        raise AmbiguousReference(reference, [str(getattr(value, "id", "")) for value in found])
    return found[0] if found else None


def by_name(repository: Repository[V], named: Callable[[str], V | None], prefix: str, reference: str) -> V | None:
    """By the id, by the name, or by the beginning of the id. What has this id is found at once, and nobody can take its place by
    being called so."""
    exact = repository.get(reference) if reference.startswith(prefix) and "\0" not in reference else None
    return exact or named(reference) or by_id(repository, prefix, reference)


def number(reference: str | int) -> int | None:
    """The number in `12`, `"12"` or `"#12"`."""
    if isinstance(reference, int):
        return reference if 0 < reference <= _GREATEST else None
    digits = reference.removeprefix("#")
    if digits.isascii() and digits.isdigit() and len(digits) < 19:
        return int(digits) or None
    return None


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    import difflib

    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return close[0] if close else None


def missing(error: Callable[[str, str | None], NotFound], name: str | int, names: Iterable[str]) -> NotFound:
    """An error that also says what was probably meant. Long names are cut: the message is for reading."""
    shown = str(name)
    return error(shown[:80], nearest(shown[:80], names))
