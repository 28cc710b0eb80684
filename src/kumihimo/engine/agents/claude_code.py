"""Claude Code: `claude -p`, with its stream of JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from msgspec import Struct
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
    Said,
    SessionOpened,
    Usage,
    Used,
    Warned,
)
from kumihimo.engine.agents.prompts import fits, spoken, without
from kumihimo.engine.agents.usage import added, rest

_RETRIES = "CLAUDE_CODE_MAX_RETRIES"
# What an agent may do without being asked. Anything else is refused, because nobody is there to ask.
_ALLOWED = "Bash Edit Write MultiEdit NotebookEdit Read Glob Grep LS Task TodoWrite WebFetch WebSearch ToolSearch Skill"


_SENT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class ClaudeCode(Client):
    name = "claude-code"
    programs = ("claude",)

    def start(self, order: Order) -> Start:
        arguments = ["-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config"]
        if order.door:
            server = {
                "type": "http",
                "url": order.door.url,
                "headers": {"Authorization": f"Bearer ${{{TOKEN_VARIABLE}}}"},
            }
            servers = {"mcpServers": {SERVER_NAME: server}}
            arguments += ["--mcp-config", msgspec.json.encode(servers).decode()]
        for folder in order.writable:
            arguments += ["--add-dir", str(folder)]
        files: dict[Path, str] = {}
        if order.system_prompt and fits(order.system_prompt):
            arguments += ["--append-system-prompt", order.system_prompt]
        elif order.system_prompt:
            file = order.private_folder / "system-prompt.md"
            files[file] = order.system_prompt
            arguments += ["--append-system-prompt-file", str(file)]
        if order.model:
            arguments += ["--model", order.model]
        if order.resume:
            arguments += ["--resume", order.resume]
        allowed = ",".join([*_ALLOWED.split(), f"mcp__{SERVER_NAME}"])
        # Not --dangerously-skip-permissions: it is refused to root. Last comes an option that takes one value, so that
        # what a user's settings append is not swallowed by one that takes many.
        arguments += ["--allowedTools", allowed, "--permission-mode", "acceptEdits"]
        environment = {"DISABLE_AUTOUPDATER": "1"}
        # Its ten retries by default add up to minutes in which nothing is known. A user's own setting wins.
        if _RETRIES not in os.environ:
            environment[_RETRIES] = "3"
        return Start(tuple(arguments), environment, order.prompt, files)

    def start_approved(self, order: Order) -> Start:
        start = self.start(order)
        if os.geteuid() == 0 and "IS_SANDBOX" not in os.environ:
            # It is refused to root, for whom everything that can be allowed one by one has to do.
            return start
        kept = without(start.argv, {"--allowedTools": 1, "--permission-mode": 1})
        return replace(start, argv=(*kept, "--dangerously-skip-permissions"))

    def attend(self, order: Order) -> Start:
        start = self.start(order)
        words, files = spoken(order, order.prompt)
        headless = {
            "-p": 0,
            "--output-format": 1,
            "--verbose": 0,
            "--strict-mcp-config": 0,
            "--allowedTools": 1,
            "--permission-mode": 1,
        }
        # First: some of the options that follow take as many values as they can get.
        argv = (words, *without(start.argv, headless))
        return replace(start, argv=argv, stdin="", files={**start.files, **files})

    def reader(self, before: Usage = UNUSED) -> Reader:
        return ClaudeReader(before)


class _Block(Struct, gc=False):
    type: str
    text: str = ""


class _Message(Struct, gc=False):
    content: list[_Block]


class _Speech(Struct, gc=False):
    """As much of an `assistant` line as is needed to see that it holds words and nothing else."""

    message: _Message
    error: Any = None
    parent_tool_use_id: Any = None


_SPEECH = b'{"type":"assistant"'
_speech = msgspec.json.Decoder(_Speech).decode


class ClaudeReader(Reader):
    """Reads Claude Code's stream, and those that are made like it."""

    # The tools that write a file, and whether they always change one that is there.
    writers: ClassVar[dict[str, bool | None]] = {
        "Write": None,
        "Edit": False,
        "MultiEdit": False,
        "NotebookEdit": False,
    }

    def __init__(self, before: Usage) -> None:
        self._before = before
        self._calls = Calls()
        self._session = ""
        self._run = UNUSED
        self._fault: Failed | None = None
        self._limit_ends: datetime | None = None

    def read(self, line: bytes) -> Iterable[Happening]:
        if line.startswith(_SPEECH):
            # Most lines are words: they are read without building what is not needed.
            try:
                speech = _speech(line)
            except lines.UNREADABLE:
                speech = None
            if speech is not None and speech.error is None and speech.parent_tool_use_id is None:
                content = speech.message.content
                if len(content) == 1 and content[0].type == "text":
                    return (Said(content[0].text),)
        table = lines.table_of(line)
        return () if table is None else self._told(table)

    def _told(self, table: lines.Table) -> Iterable[Happening]:
        match table.get("type"):
            case "assistant":
                return self._assistant(table)
            case "user":
                return self._user(table)
            case "system":
                return self._system(table)
            case "result":
                return self._result(table)
            case "rate_limit_event":
                return self._limit(lines.inner(table, "rate_limit_info"))
            case _:
                return ()

    def _assistant(self, table: lines.Table) -> list[Happening]:
        blocks = lines.rows(lines.inner(table, "message"), "content")
        if lines.text(table, "error"):
            return self._api_error(table, lines.words(blocks))
        # What a sub-agent says is said to its agent, not to us; what it does is done all the same.
        own = table.get("parent_tool_use_id") is None
        found: list[Happening] = []
        for block in blocks:
            match block.get("type"):
                case "text" if own:
                    found.append(Said(lines.text(block, "text")))
                case "tool_use":
                    found += self._called(block)
                case _:
                    pass
        return found

    def _api_error(self, table: lines.Table, message: str) -> list[Happening]:
        """The CLI's own words about an API that failed, in the shape of an answer. The line has a time; the result that
        follows has none."""
        message = message or lines.text(table, "error")
        status = lines.count(table, "api_error_status") or None
        self._fault = failure(message, status, lines.moment(table, "timestamp"))
        if self._fault.reason == "exited":
            self._fault = failure(lines.text(table, "error"), None)
        return [Warned(message[:2000])]

    def _called(self, block: lines.Table) -> list[Happening]:
        tool, given = lines.text(block, "name"), lines.inner(block, "input")
        path = ""
        if tool in self.writers:
            path = lines.text(given, "file_path") or lines.text(given, "notebook_path") or lines.text(given, "path")
        return self._calls.begin(lines.text(block, "id"), Call(tool, path, self.writers.get(tool)), given)

    def _user(self, table: lines.Table) -> list[Happening]:
        found: list[Happening] = []
        for block in lines.rows(lines.inner(table, "message"), "content"):
            if block.get("type") == "tool_result":
                found += self._answered(block, lines.inner(table, "tool_use_result"))
        return found

    def _answered(self, block: lines.Table, outcome: lines.Table) -> list[Happening]:
        ok = block.get("is_error") is not True
        call, found = self._calls.answer(lines.text(block, "tool_use_id"), ok)
        if call and call.path and ok:
            path = lines.text(outcome, "filePath") or call.path
            found += self._calls.wrote(path, self._creates(call, block, outcome))
        return found

    def _creates(self, call: Call, block: lines.Table, outcome: lines.Table) -> bool | None:
        """Whether the file is new: as the outcome says it in so many fields, else as the answer says it in words."""
        if kind := lines.text(outcome, "type"):
            return kind == "create"
        if call.creates is not None:
            return call.creates
        words = lines.words(block.get("content"))[:200].lower()
        if "created" in words:
            return True
        return False if "updated" in words or "overwrote" in words else None

    def _system(self, table: lines.Table) -> list[Happening]:
        match table.get("subtype"):
            case "init":
                session = lines.text(table, "session_id")
                if not session or session == self._session:
                    return []
                self._session = session
                return [SessionOpened(session, lines.text(table, "model") or None), *_unreached(table)]
            case "permission_denied":
                return [Warned(lines.text(table, "message")[:2000] or "permission denied")]
            case "api_retry":
                status = lines.count(table, "error_status")
                what = " ".join(filter(None, [str(status) if status else "", lines.text(table, "error")]))
                return [Warned(f"API retry {lines.count(table, 'attempt')}: {what}"[:2000])]
            case _:
                return []

    def _limit(self, told: lines.Table) -> list[Happening]:
        if told.get("status") != "rejected":
            return []
        if seconds := lines.count(told, "resetsAt"):
            try:
                self._limit_ends = datetime.fromtimestamp(seconds, UTC)
            except (ValueError, OverflowError, OSError):
                self._limit_ends = None
        return [Warned("rate limit reached")]

    def _result(self, table: lines.Table) -> list[Happening]:
        found: list[Happening] = [self._used(table)]
        message = lines.text(table, "result")
        if self._succeeded(table):
            self._fault = None
            return [*found, Finished(message or None)]
        message = message or lines.listed(table, "errors") or lines.text(table, "subtype") or "failed"
        if lines.text(table, "terminal_reason").startswith("aborted"):
            return [*found, Failed("signalled", message[:2000])]
        return [*found, self._failed(message, lines.count(table, "api_error_status") or None)]

    def _succeeded(self, table: lines.Table) -> bool:
        return table.get("is_error") is False and table.get("subtype") == "success"

    def _failed(self, message: str, status: int | None) -> Failed:
        seen = failure(message, status)
        fault = self._fault or seen
        reason = seen.reason if seen.reason != "exited" else fault.reason
        if reason != "rate_limited":
            return Failed(reason, seen.message)
        ends = seen.reset_at or self._limit_ends or fault.reset_at
        return Failed(reason, seen.message, ends, None if ends else seen.reset_after)

    def _used(self, table: lines.Table) -> Used:
        """Tokens are told for this result alone, of which a run may have several. The cost is that of the whole
        conversation, also where it was resumed."""
        usage, run = lines.inner(table, "usage"), self._run
        whole = lines.money(table, "total_cost_usd")
        self._run = Usage(
            run.input_tokens + sum(lines.count(usage, name) for name in _SENT),
            run.output_tokens + lines.count(usage, "output_tokens"),
            None if whole is None else rest(self._before.cost_usd, whole),
        )
        return added(self._before, self._run)


def _unreached(table: lines.Table) -> list[Happening]:
    """It goes on without the tools of a server that it can't reach, and says so here only."""
    failed = [server for server in lines.rows(table, "mcp_servers") if server.get("status") in ("failed", "needs-auth")]
    return [Warned(f"MCP server {lines.text(server, 'name')} can't be reached"[:200]) for server in failed[:10]]
