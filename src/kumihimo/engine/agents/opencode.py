"""opencode: `opencode run --format json`.

Its stream has no first line with a model and no last line with a result: it has ended well when a step ends with the reason
`stop` and the exit code is 0.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from kumihimo.engine.agents import lines
from kumihimo.engine.agents.calls import Call, Calls
from kumihimo.engine.agents.client import SERVER_NAME, TOKEN_VARIABLE, Client, Door, Order, Reader, Start
from kumihimo.engine.agents.faults import failure
from kumihimo.engine.agents.happenings import (
    UNUSED,
    Failed,
    Finished,
    Happening,
    Said,
    SessionOpened,
    Usage,
    Warned,
)
from kumihimo.engine.agents.prompts import headed, spoken, without
from kumihimo.engine.agents.usage import added, total

_PATHS = ("filePath", "file_path", "path")


class Opencode(Client):
    name = "opencode"
    programs = ("opencode",)
    models_arguments = ("models",)

    def start(self, order: Order) -> Start:
        arguments = ["run", "--format", "json"]
        if order.model:
            arguments += ["-m", order.model]
        if order.resume:
            arguments += ["--session", order.resume]
        # What would be asked is refused when nobody is there, and the run then stops with exit code 0.
        settings: lines.Table = {"autoupdate": False, "share": "disabled", "permission": "allow"}
        if order.door:
            settings["mcp"] = {SERVER_NAME: _server(order.door)}
        # This text is merged over the user's own files; it is the one way to give settings to a single run.
        environment = {
            "OPENCODE_CONFIG_CONTENT": msgspec.json.encode(settings).decode(),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
        }
        return Start(tuple(arguments), environment, headed(order))

    def attend(self, order: Order) -> Start:
        start = self.start(order)
        words, files = spoken(order, start.stdin)
        settings = msgspec.json.decode(start.environment["OPENCODE_CONFIG_CONTENT"])
        # There is somebody to ask.
        settings.pop("permission")
        environment = {**start.environment, "OPENCODE_CONFIG_CONTENT": msgspec.json.encode(settings).decode()}
        kept = without(start.argv, {"run": 0, "--format": 1})
        return replace(start, argv=("--prompt", words, *kept), environment=environment, stdin="", files=files)

    def reader(self, before: Usage = UNUSED) -> Reader:
        return OpencodeReader(before)


def _server(door: Door) -> lines.Table:
    headers = {"Authorization": f"Bearer {{env:{TOKEN_VARIABLE}}}"}
    server = {"type": "remote", "url": door.url, "headers": headers, "oauth": False, "enabled": True}
    # Not a word of its own, and ignored by it: for a program in its place that does not expand `{env:…}`.
    return {**server, "bearer_token_env_var": TOKEN_VARIABLE}


class OpencodeReader(Reader):
    def __init__(self, before: Usage) -> None:
        self._before = before
        self._run = UNUSED
        self._calls = Calls()
        self._session = ""
        self._last = ""

    def read(self, line: bytes) -> Iterable[Happening]:
        table = lines.table_of(line)
        if table is None:
            return ()
        found = self._opened(lines.text(table, "sessionID"))
        part = lines.inner(table, "part")
        match table.get("type"):
            case "text":
                self._last = lines.text(part, "text")
                found.append(Said(self._last))
            case "tool_use":
                found += self._tool(part)
            case "step_finish":
                found += self._step(part)
            case "error":
                found.append(_failed(table))
            case _:
                pass
        return found

    def _opened(self, session: str) -> list[Happening]:
        if not session or session == self._session:
            return []
        self._session = session
        return [SessionOpened(session)]

    def _tool(self, part: lines.Table) -> list[Happening]:
        """A call is told once, when it is over."""
        call, state = lines.text(part, "callID"), lines.inner(part, "state")
        given, ok = lines.inner(state, "input"), state.get("status") == "completed"
        tool = lines.text(part, "tool")
        found = self._calls.begin(call, Call(tool), given)
        if state.get("status") not in ("completed", "error"):
            return found
        found += self._calls.answer(call, ok)[1]
        if not ok:
            error = lines.text(state, "error")
            return [*found, Warned(error[:2000])] if "permission" in error else found
        return [*found, *self._written(tool, given, lines.inner(state, "metadata"))]

    def _written(self, tool: str, given: lines.Table, outcome: lines.Table) -> list[Happening]:
        path = next(filter(None, (lines.text(given, name) for name in _PATHS)), "")
        match tool:
            case "write":
                exists = outcome.get("exists")
                return self._calls.wrote(path, not exists if isinstance(exists, bool) else None)
            case "edit" | "multiedit":
                # An edit of nothing into something makes the file.
                return self._calls.wrote(path, given.get("oldString") == "")
            case "patch" | "apply_patch":
                found: list[Happening] = []
                for file in lines.rows(outcome, "files"):
                    if file.get("type") != "delete":
                        found += self._calls.wrote(lines.text(file, "filePath"), file.get("type") == "add")
                return found
            case "read" if path:
                self._calls.saw(path)
                return []
            case _:
                return []

    def _step(self, part: lines.Table) -> list[Happening]:
        tokens, run = lines.inner(part, "tokens"), self._run
        cache = lines.inner(tokens, "cache")
        sent = lines.count(tokens, "input") + lines.count(cache, "read") + lines.count(cache, "write")
        made = lines.count(tokens, "output") + lines.count(tokens, "reasoning")
        self._run = Usage(
            run.input_tokens + sent, run.output_tokens + made, total(run.cost_usd, lines.money(part, "cost"))
        )
        used = added(self._before, self._run)
        return [used, Finished(self._last or None)] if part.get("reason") == "stop" else [used]


def _failed(table: lines.Table) -> Failed:
    error = lines.inner(table, "error")
    data = lines.inner(error, "data")
    message = lines.text(data, "message") or lines.text(error, "name") or "failed"
    waits = lines.text(lines.inner(data, "responseHeaders"), "retry-after")
    told = f"{message} (retry after {waits}s)" if waits.isdigit() else message
    return failure(told, lines.count(data, "statusCode") or None, lines.moment(table, "timestamp"))
