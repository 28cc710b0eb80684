"""What every error of ours is: a class, whose name is its code, and the facts of its message."""

from __future__ import annotations

from collections.abc import Iterable

Fact = str | int | None


def listed(values: Iterable[str]) -> str:
    """Values as a text for a message."""
    return ", ".join(values)


class KumihimoError(Exception):
    """A refusal that the caller can understand and act on. `facts` fill in its message."""

    def __init__(self, **facts: Fact) -> None:
        super().__init__(type(self).__name__)
        self.facts = facts

    @property
    def code(self) -> str:
        return type(self).__name__

    def __str__(self) -> str:
        from kumihimo.domain.messages import render

        return render(self, "en")
