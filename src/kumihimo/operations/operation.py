"""What an operation is: one verb, declared once.

The arguments are a msgspec Struct, which is also their JSON schema; the answer is a value of the services; the docstring
of the handler is the description. `Call` is what a handler gets to work with.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from kumihimo.domain import text
from kumihimo.domain.errors import InvalidValue, KumihimoError, TokenRefused
from kumihimo.domain.session import Session
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.settings import Settings

if TYPE_CHECKING:
    from kumihimo.hub.desk import Desk
    from kumihimo.hub.relay import Done, Relay

_PLAIN = 10_000
A = TypeVar("A", bound=msgspec.Struct)
R = TypeVar("R")
Slowness = bool | Callable[[Settings, Board, Any], bool]
Relaying = Callable[["Desk", Any, "Done"], "Relay | None"]


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of an operation: what is not known is refused."""


class Nothing(Arguments, frozen=True):
    """No arguments."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An answer that is made of what others have told, and shown as it is."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks, and where they stand. `actor` is what the event log says.

    The owner has no session. An agent that has logged in has one, which says who it is and where it may reach; a run that
    was started with a token of its own has none to lose, and `execution_id` says which it is.
    """

    actor: str
    place: Place
    session: Session | None = None
    execution_id: str | None = None
    only: tuple[str, str] | None = None
    """The one (agent, project) that this caller may log in as or speak for, where it is not the owner."""
    instance_id: str | None = None
    """Which instance of a Runner it is."""

    @classmethod
    def of_session(cls, session: Session) -> Caller:
        return cls(session.agent_id, Place(session.project_id), session)

    def may_be(self, agent_id: str, project_id: str) -> bool:
        return self.only is None or self.only == (agent_id, project_id)

    def speaking_for(self, agent: Caller) -> Caller:
        """This caller with an agent's session. TokenRefused where the session is not one it may have."""
        session = agent.session
        if session is None or not self.may_be(session.agent_id, session.project_id):
            raise TokenRefused
        return agent


class Call:
    """One use of an operation. The board is opened when it is first needed: some verbs must work without one."""

    __slots__ = ("_board", "_desk", "_open_board", "caller", "settings")

    def __init__(
        self,
        settings: Settings,
        caller: Caller,
        open_board: Callable[[], Board] | None,
        board: Board | None = None,
        desk: Desk | None = None,
    ) -> None:
        self.settings = settings
        self.caller = caller
        self._open_board = open_board
        self._board = board
        self._desk = desk

    @property
    def place(self) -> Place:
        return self.caller.place

    @property
    def session(self) -> Session:
        """The session of an agent that speaks for itself. TokenRefused for anybody else."""
        if self.caller.session is None:
            raise TokenRefused
        return self.caller.session

    @property
    def board(self) -> Board:
        if self._board is None:
            assert self._open_board is not None, "a call has a board or a way to one"
            self._board = self._open_board()
            self._board.store.actor = self.caller.actor
        return self._board

    @property
    def desk(self) -> Desk:
        """What the caller sees of the hub. Only for operations that are coroutines."""
        assert self._desk is not None, "who carries a coroutine out has a hub"
        return self._desk

    def keep_up(self) -> None:
        """See to it that a supervisor is at work. It is not waited for."""
        from kumihimo.services.hosting import start_if_gone

        start_if_gone(self.settings)

    def close(self) -> None:
        if self._board is not None:
            self._board.store.close()


class Operation(Generic[A, R]):
    """A verb. `reads`: changes nothing. `idempotent`: once or twice is the same. `destructive`: takes something away.

    `slow`: takes longer than others should wait for; a function where that depends on how things are. `patience`: it
    waits; its handler answers None while there is nothing to answer, is asked again after every event, and after so many
    seconds its answer is `in_vain`. A handler that is a coroutine function has the hub to work with, and no board; `relay` is
    its short way, where it has one: it answers by calling back, or is None with nothing done.
    """

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
        slow: Slowness = False,
        patience: Callable[[A], float] | None = None,
        in_vain: Any = None,
        relay: Relaying | None = None,
    ) -> None:
        self.name = name
        self.arguments = arguments
        self.answer = answer
        self.handler = handler
        self.errors = errors
        self.reads = reads
        self.idempotent = idempotent
        self.destructive = destructive
        self.slow = slow
        self.patience = patience
        self.in_vain = in_vain
        self.relay = relay
        self.uses_hub = iscoroutinefunction(handler)
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

    def build(self, values: dict[str, Any]) -> A:
        """The arguments from values whose types are known to be right, as those that a tool has decoded."""
        for name, value in values.items():
            _require_storable(name, value)
        return self.arguments(**values)

    def __call__(self, call: Call, arguments: A) -> R:
        return self.handler(call, arguments)


def _require_storable(field: str, value: Any) -> None:
    """No text goes further that a database could not even compare with: half a character, NUL, or a book."""
    if isinstance(value, str):
        # Nearly every text is short and plain: those are seen at a glance.
        if len(value) > _PLAIN or not value.isascii() or "\0" in value:
            text.long(field[:60], value)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            _require_storable(name, getattr(value, name))
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
    slow: Slowness = False,
    patience: Callable[[A], float] | None = None,
    in_vain: Any = None,
    relay: Relaying | None = None,
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
            slow=slow,
            patience=patience,
            in_vain=in_vain,
            relay=relay,
        )

    return declare
