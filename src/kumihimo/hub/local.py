"""Tools of the program itself, which need no server."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.results import Answer
from kumihimo.hub.tools import Table, Tool

Execute = Callable[[Any], Any]
_log = logging.getLogger(__name__)


class CancelledItself(Exception):
    """A tool of the program was cancelled, and not by who called it."""


class LocalTool(Tool):
    SERVER = "local"

    def __init__(self, definition: Mapping[str, Any], execute: Execute) -> None:
        super().__init__(self.SERVER, definition)
        self.execute = execute


def local_tool(tool: Any) -> LocalTool:
    """From a table or an object with a name, a description, a version, schemas, and what carries it out."""
    given: Table = (
        dict(cast("Mapping[str, Any]", tool))
        if isinstance(tool, Mapping)
        else {
            name: getattr(tool, name)
            for name in ("name", "description", "version", "input_schema", "inputSchema", "output_schema", "execute")
            if hasattr(tool, name)
        }
    )
    for snake, camel in (("input_schema", "inputSchema"), ("output_schema", "outputSchema")):
        if snake in given:
            given.setdefault(camel, given.pop(snake))
    execute = given.pop("execute", None)
    if not isinstance(given.get("name"), str) or not given["name"] or not callable(execute):
        raise ValueError("a tool has a name, and an `execute` that can be called with its arguments")
    return LocalTool(given, execute)


def gate_of(tool: Any) -> Any:
    """What such a tool itself brings along to be asked before it is called."""
    names = ("can_execute", "canExecute")
    if isinstance(tool, Mapping):
        table = cast("Mapping[str, Any]", tool)
        return next((table[name] for name in names if table.get(name) is not None), None)
    return next((found for name in names if (found := getattr(tool, name, None)) is not None), None)


async def carry_out(tool: LocalTool, params: Any, seconds: float | None = None) -> Any:
    """Its data. It may answer data, or success and data as a server's tool does, or what the hub has answered to it. HubError
    where it fails, or takes longer than it may; CancelledItself where it breaks in a way that would end who called it."""
    clock = asyncio.timeout(seconds)
    try:
        async with clock:
            answer, error = await asked(tool.execute, params)
    except TimeoutError:
        if not clock.expired():
            raise
        raise HubError(Code.TIMEOUT, f"{tool.name}: no answer within {seconds:g} s", delivered=True) from None
    if isinstance(error, asyncio.CancelledError):
        raise CancelledItself(f"{tool.name}: it was cancelled, and not by who called it") from error
    if error is not None:
        raise HubError(Code.EXECUTION_FAILED, f"{tool.name}: {type(error).__name__}: {error}") from error
    if isinstance(answer, Answer):
        answer = msgspec.to_builtins({"success": answer.success, "error": answer.error}) | {"data": answer.data}
    told = cast("Table", answer) if isinstance(answer, dict) else Table()
    if isinstance(told.get("success"), bool):
        if not told["success"]:
            raise _failure(tool, told.get("error"))
        return told.get("data")
    return cast("Any", answer)


def _failure(tool: LocalTool, error: Any) -> HubError:
    """As the tool tells it: in the words of the hub, or in any."""
    told = cast("Table", error) if isinstance(error, dict) else Table()
    code = told.get("code")
    if not isinstance(told.get("message"), str):
        return HubError(Code.EXECUTION_FAILED, f"{tool.name}: {error}", {"error": error})
    retryable = told.get("retryable")
    return HubError(
        Code(code) if code in list(Code) else Code.EXECUTION_FAILED,
        told["message"],
        {"error": error},
        retryable=retryable if isinstance(retryable, bool) else None,
    )


async def asked(function: Any, params: Any) -> tuple[Any, BaseException | None]:
    """What a function of the program says, or how it broke: its fault is not ours."""

    async def ask() -> Any:
        answer = function(params)
        return await answer if inspect.isawaitable(answer) else answer

    task = asyncio.get_running_loop().create_task(ask())
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        raise
    if task.cancelled():
        # Whoever waits here was not: that is told above.
        return None, asyncio.CancelledError("it was cancelled")
    error = task.exception()
    if error is not None:
        _log.warning("%r broke", function, exc_info=error)
        return None, error
    return task.result(), None
