"""GitHub Copilot CLI: `copilot --output-format json`, with the prompt on stdin."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from kumihimo.engine.agents import lines
from kumihimo.engine.agents.calls import Call, Calls
from kumihimo.engine.agents.client import SERVER_NAME, TOKEN_VARIABLE, Client, Order, Reader, Start
from kumihimo.engine.agents.faults import failure
from kumihimo.engine.agents.happenings import (
    UNUSED,
    Failed,
    Finished,
    Happening,
    ModelNamed,
    Said,
    SessionOpened,
    Usage,
    Used,
    Warned,
)
from kumihimo.engine.agents.prompts import headed, spoken, without
from kumihimo.engine.agents.usage import added

_WRITERS: dict[str, bool | None] = {"create": None, "write": None, "edit": False, "str_replace": False}


class Copilot(Client):
    name = "copilot"
    programs = ("copilot",)

    def start(self, order: Order) -> Start:
        arguments = ["--output-format", "json", "--allow-all-tools", "--no-auto-update"]
        for folder in order.writable:
            arguments += ["--add-dir", str(folder)]
        if order.door:
            server = {
                "type": "http",
                "url": order.door.url,
                "headers": {"Authorization": f"Bearer ${{{TOKEN_VARIABLE}}}"},
                "tools": ["*"],
            }
            servers = {"mcpServers": {SERVER_NAME: server}}
            arguments += ["--additional-mcp-config", msgspec.json.encode(servers).decode()]
        if order.model:
            arguments += ["--model", order.model]
        if order.resume:
            arguments += [f"--resume={order.resume}"]
        return Start(tuple(arguments), {"COPILOT_AUTO_UPDATE": "false", "NO_COLOR": "1"}, headed(order))

    def attend(self, order: Order) -> Start:
        start = self.start(order)
        words, files = spoken(order, start.stdin)
        kept = without(start.argv, {"--output-format": 1, "--allow-all-tools": 0})
        return replace(start, argv=("-i", words, *kept), stdin="", files=files)

    def reader(self, before: Usage = UNUSED) -> Reader:
        return CopilotReader(before)


class CopilotReader(Reader):
    def __init__(self, before: Usage) -> None:
        self._before = before
        self._run = UNUSED
        self._calls = Calls()
        self._last = ""
        self._model: str | None = None
        self._fault: Failed | None = None

    def read(self, line: bytes) -> Iterable[Happening]:
        table = lines.table_of(line)
        if table is None:
            return ()
        data = lines.inner(table, "data")
        match table.get("type"):
            case "assistant.message":
                return self._message(data)
            case "tool.execution_start":
                return self._called(data, lines.text(data, "toolName"))
            case "tool.execution_complete":
                return self._answered(data)
            case "session.tools_updated":
                # The session itself is named only at the end.
                self._model = lines.text(data, "model") or self._model
                return [ModelNamed(self._model)] if self._model else ()
            case "assistant.usage":
                return [self._used(data)]
            case "session.error" | "model.call_failure":
                return self._error(data, table)
            case "abort" | "session.warning":
                message = lines.text(data, "message") or lines.text(data, "reason") or "interrupted"
                return [Warned(message[:2000])]
            case "result":
                return self._result(table)
            case _:
                return ()

    def _message(self, data: lines.Table) -> list[Happening]:
        """Whole messages. The pieces that come before them say the same."""
        found: list[Happening] = []
        if words := lines.text(data, "content"):
            self._last = words
            found.append(Said(words))
        for request in lines.rows(data, "toolRequests"):
            found += self._called(request, lines.text(request, "name"))
        return found

    def _called(self, data: lines.Table, tool: str) -> list[Happening]:
        given = lines.inner(data, "arguments")
        path = lines.text(given, "path") if tool in _WRITERS else ""
        return self._calls.begin(lines.text(data, "toolCallId"), Call(tool, path, _WRITERS.get(tool)), given)

    def _answered(self, data: lines.Table) -> list[Happening]:
        ok = data.get("success") is True
        call, found = self._calls.answer(lines.text(data, "toolCallId"), ok)
        if not ok:
            return found
        edits = lines.rows(data, "fileEdits")
        for edit in edits:
            if edit.get("kind") != "delete":
                found += self._calls.wrote(lines.text(edit, "path"), edit.get("kind") == "create")
        if not edits and call and call.path:
            found += self._calls.wrote(call.path, call.creates)
        return found

    def _used(self, data: lines.Table) -> Used:
        """Told for each call of the model, where it is told at all. What it costs is in requests, not in money."""
        run = self._run
        self._run = Usage(
            run.input_tokens + lines.count(data, "inputTokens"), run.output_tokens + lines.count(data, "outputTokens")
        )
        return added(self._before, self._run)

    def _error(self, data: lines.Table, table: lines.Table) -> list[Happening]:
        error = lines.inner(data, "error")
        message = lines.text(data, "message") or lines.text(data, "errorMessage") or lines.text(error, "message")
        message = message or lines.text(data, "errorType") or "failed"
        status = lines.count(data, "statusCode") or None
        self._fault = failure(message, status, lines.moment(table, "timestamp"))
        return [Warned(message[:2000])]

    def _result(self, table: lines.Table) -> list[Happening]:
        session = lines.text(table, "sessionId")
        found: list[Happening] = [SessionOpened(session, self._model)] if session else []
        if table.get("exitCode") == 0:
            return [*found, Finished(self._last or None)]
        return [*found, self._fault or Failed("exited", f"exit code {lines.count(table, 'exitCode')}")]
