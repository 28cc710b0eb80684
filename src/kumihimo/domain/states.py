"""A state machine is a table: from a state, by an action, to a state. The diagrams in the docs are drawn from these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kumihimo.domain.errors import IllegalTransition


class StateTable:
    """The moves of one noun. `rows` has a state and an action, and the state they lead to."""

    def __init__(self, noun: str, initial: Iterable[str], rows: Mapping[tuple[str, str], str]) -> None:
        self.noun = noun
        self.initial = tuple(initial)
        self.rows = dict(rows)

    @classmethod
    def of_targets(cls, noun: str, initial: Iterable[str], targets: Mapping[str, Iterable[str]]) -> StateTable:
        """A table in which the action is the state that one wants to reach."""
        return cls(noun, initial, {(state, to): to for state, ways in targets.items() for to in ways})

    def next(self, name: str | int, state: str, action: str) -> str:
        """The state after `action`, or IllegalTransition with what is possible instead."""
        after = self.rows.get((state, action))
        if after is None:
            raise IllegalTransition(self.noun, name, state, action, self.actions(state))
        return after

    def actions(self, state: str) -> list[str]:
        return [action for (before, action) in self.rows if before == state]

    def states(self) -> list[str]:
        """Every state, in the order in which the table speaks of them."""
        return list(
            dict.fromkeys([*self.initial, *(s for (before, _), after in self.rows.items() for s in (before, after))])
        )
