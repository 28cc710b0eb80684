"""What an operation is: one verb, declared once.

The arguments are a msgspec Struct, which is also their JSON schema; the answer is a value of the services; the docstring
of the handler is the description. `Call` is what a handler gets to work with.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from typing import Any, Generic, TypeVar

import msgspec

from kumihimo.domain import text
from kumihimo.domain.errors import InvalidValue, KumihimoError
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.settings import Settings

A = TypeVar("A", bound=msgspec.Struct)
R = TypeVar("R")


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of an operation: what is not known is refused."""


class Nothing(Arguments, frozen=True):
    """No arguments."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks, and where they stand. `actor` is what the event log says."""

    actor: str
    place: Place


class Call:
    """One use of an operation. The board is opened when it is first needed: some verbs must work without one."""

    def __init__(self, settings: Settings, caller: Caller, open_board: Callable[[], Board]) -> None:
        self.settings = settings
        self.caller = caller
        self._open_board = open_board
        self._board: Board | None = None

    @property
    def place(self) -> Place:
        return self.caller.place

    @property
    def board(self) -> Board:
        if self._board is None:
            self._board = self._open_board()
            self._board.store.actor = self.caller.actor
        return self._board

    def close(self) -> None:
        if self._board is not None:
            self._board.store.close()


class Operation(Generic[A, R]):
    """A verb. `reads`: changes nothing. `idempotent`: once or twice is the same. `destructive`: takes something away."""

    def __init__(
        self,
        name: str,
        arguments: type[A],
        answer: Any,
        handler: Callable[[Call, A], R],
        *,
        errors: tuple[type[KumihimoError], ...],
        reads: bool,
        idempotent: bool,
        destructive: bool,
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.answer = answer
        self.handler = handler
        self.errors = errors
        self.reads = reads
        self.idempotent = idempotent
        self.destructive = destructive
        self.description = cleandoc(handler.__doc__ or "")

    def read(self, values: dict[str, Any], *, strict: bool = True) -> A:
        """The arguments from what a caller sent. What does not fit is InvalidValue with the name of the field.

        Not strict: numbers and flags may come as text, as on a command line.
        """
        for name, value in values.items():
            _require_storable(name, value)
        unknown = [name for name in values if name not in self.arguments.__struct_fields__]
        if unknown:
            raise InvalidValue(unknown[0][:60], "unknown_field")
        try:
            return msgspec.convert(values, self.arguments, strict=strict)
        except msgspec.ValidationError as error:
            reason, _, path = str(error).partition(" - at ")
            raise InvalidValue(
                path.strip("`$.") or reason.partition("`")[2].partition("`")[0], "malformed", reason=reason[:200]
            ) from None

    def __call__(self, call: Call, arguments: A) -> R:
        return self.handler(call, arguments)


def _require_storable(field: str, value: Any) -> None:
    """No text goes further that a database could not even compare with: half a character, NUL, or a book."""
    if isinstance(value, str):
        text.long(field[:60], value)
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            _require_storable(field, inner)


def operation(
    name: str,
    arguments: type[A],
    answer: Any,
    *errors: type[KumihimoError],
    reads: bool = False,
    idempotent: bool = False,
    destructive: bool = False,
) -> Callable[[Callable[[Call, A], R]], Operation[A, R]]:
    """Declare the function below as the handler of an operation."""

    def declare(handler: Callable[[Call, A], R]) -> Operation[A, R]:
        return Operation(
            name,
            arguments,
            answer,
            handler,
            errors=errors,
            reads=reads,
            idempotent=idempotent or reads,
            destructive=destructive,
        )

    return declare
