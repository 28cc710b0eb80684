"""Waiting on a command line: asked again whenever something happened, until there is an answer or the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from kumihimo.operations.operation import Call, Operation
from kumihimo.store.bell import bell_of

# Also without a bell one looks now and then: a bell can be lost, an event can't.
_LOOK_SECONDS = 0.5


def wait(operation: Operation[Any, Any], call: Call, arguments: Any, watch: Callable[[], None] | None = None) -> Any:
    """`watch` is called between two looks, to show how far it is."""
    patience = operation.patience(arguments) if operation.patience else 0.0
    deadline = time.monotonic() + patience
    with closing(bell_of(call.board.store)) as bell:
        while True:
            answer = operation(call, arguments)
            if answer is not None:
                return answer
            left = deadline - time.monotonic()
            if left <= 0:
                in_vain = operation.in_vain
                return in_vain(call, arguments, False) if callable(in_vain) else in_vain
            if watch is not None:
                watch()
            bell.wait(min(_LOOK_SECONDS, left))
