"""What every service is made of: a store, a clock, ids; and how a method becomes a command or a query."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.identifiers import Identifiers
from kumihimo.store.store import Store, Transaction

Clock = Callable[[], datetime]
P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Service")


class Service:
    def __init__(self, store: Store, clock: Clock, identifiers: Identifiers) -> None:
        self.store = store
        self.clock = clock
        self.identifiers = identifiers


def command(method: Callable[Concatenate[S, Transaction, P], R]) -> Callable[Concatenate[S, P], R]:
    """One transaction: everything that the method writes is there afterwards, or nothing. A command inside a command joins it."""

    @wraps(method)
    def run(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.store.write(lambda transaction: method(self, transaction, *args, **kwargs))

    return run


def query(method: Callable[Concatenate[S, Transaction, P], R]) -> Callable[Concatenate[S, P], R]:
    """Reads on one snapshot, or in the command that is under way."""

    @wraps(method)
    def run(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.store.read(lambda transaction: method(self, transaction, *args, **kwargs))

    return run


def lookup(method: Callable[Concatenate[S, Transaction, P], R]) -> Callable[Concatenate[S, P], R]:
    """Reads one thing by its name: without a snapshot, because one statement is one already."""

    @wraps(method)
    def run(self: S, *args: P.args, **kwargs: P.kwargs) -> R:
        store = self.store
        try:
            return method(self, store.for_looking(), *args, **kwargs)
        except KumihimoError:
            raise
        except Exception as error:
            raise store.translated(error) from error

    return run
