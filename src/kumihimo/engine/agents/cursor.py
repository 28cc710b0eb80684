"""Cursor's agent: `cursor-agent -p --output-format stream-json`, with the prompt on stdin.

Made from its documentation, not from runs of it. Our MCP server is left out: it can be named only in a file of the project
or of the user's home, and neither is ours to write.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from kumihimo.engine.agents import lines
from kumihimo.engine.agents.calls import Call, Calls
from kumihimo.engine.agents.client import Client, Order, Reader, Start
from kumihimo.engine.agents.faults import failure
from kumihimo.engine.agents.happenings import UNUSED, Finished, Happening, Said, SessionOpened, Usage
from kumihimo.engine.agents.prompts import headed, spoken, without
from kumihimo.engine.agents.usage import added

_WRITERS: dict[str, bool | None] = {"write": None, "edit": False}


class Cursor(Client):
    name = "cursor"
    programs = ("cursor-agent", "agent")
    models_arguments = ("models",)

    def start(self, order: Order) -> Start:
        arguments = ["-p", "--output-format", "stream-json"]
        # Without --force edits are only proposed. --trust and --approve-mcps answer what nobody is there to answer.
        arguments += ["--force", "--trust", "--approve-mcps", "--workspace", str(order.working_directory)]
        if order.model:
            arguments += ["--model", order.model]
        if order.resume:
            arguments += ["--resume", order.resume]
        return Start(tuple(arguments), {"NO_COLOR": "1"}, headed(order))

    def attend(self, order: Order) -> Start:
        start = self.start(order)
        words, files = spoken(order, start.stdin)
        headless = {"-p": 0, "--output-format": 1, "--force": 0, "--trust": 0, "--approve-mcps": 0}
        return replace(start, argv=(words, *without(start.argv, headless)), stdin="", files=files)

    def reader(self, before: Usage = UNUSED) -> Reader:
        return CursorReader(before)


class CursorReader(Reader):
    """A failure has no terminal event: it is told by the exit code and on stderr alone."""

    def __init__(self, before: Usage) -> None:
        self._before = before
        self._calls = Calls()
        self._session = ""

    def read(self, line: bytes) -> Iterable[Happening]:
        table = lines.table_of(line)
        if table is None:
            return ()
        match table.get("type"):
            case "assistant":
                content = lines.inner(table, "message").get("content")
                return [Said(words)] if (words := lines.words(content)) else ()
            case "tool_call":
                return self._tool(table)
            case "system" if table.get("subtype") == "init":
                session = lines.text(table, "session_id")
                if not session or session == self._session:
                    return ()
                self._session = session
                return [SessionOpened(session, lines.text(table, "model") or None)]
            case "result":
                return self._result(table)
            case _:
                return ()

    def _tool(self, table: lines.Table) -> list[Happening]:
        call, told = lines.text(table, "call_id"), lines.inner(table, "tool_call")
        tool, given, outcome = _parts(told)
        path = lines.text(given, "path") if tool in _WRITERS or tool == "read" else ""
        found = self._calls.begin(call, Call(tool, path, _WRITERS.get(tool)), given)
        if table.get("subtype") != "completed":
            return found
        ok = not ({"error", "rejected", "failure", "permissionDenied"} & outcome.keys())
        known, answered = self._calls.answer(call, ok)
        found += answered
        if not ok or not known or not known.path:
            return found
        if tool == "read":
            self._calls.saw(known.path)
            return found
        return [*found, *self._calls.wrote(known.path, known.creates)]

    def _result(self, table: lines.Table) -> list[Happening]:
        usage = lines.inner(table, "usage")
        run = Usage(lines.count(usage, "inputTokens"), lines.count(usage, "outputTokens"))
        found: list[Happening] = [added(self._before, run)] if usage else []
        message = lines.text(table, "result")
        if table.get("is_error") is False and table.get("subtype") == "success":
            return [*found, Finished(message or None)]
        return [*found, failure(message or lines.text(table, "subtype") or "failed")]


def _parts(told: lines.Table) -> tuple[str, lines.Table, lines.Table]:
    """A call's tool, arguments and outcome: under `writeToolCall` and the like, or as a `function`."""
    for name in told:
        if name.endswith("ToolCall"):
            body = lines.inner(told, name)
            outcome = lines.inner(body, "result")
            return name.removesuffix("ToolCall"), lines.inner(body, "args"), outcome or body
    function = lines.inner(told, "function")
    return lines.text(function, "name"), lines.table_of(lines.text(function, "arguments")) or {}, told
