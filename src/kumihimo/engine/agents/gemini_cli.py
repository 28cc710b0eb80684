"""Gemini CLI: `gemini --output-format stream-json`.

Its MCP servers come from a settings file alone. A run with our tools therefore gets a home of its own, in which the settings
are the user's with our server added, and everything else is a link to the user's: logins, and the chats that are resumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kumihimo.domain.execution import FailureReason
from kumihimo.engine.agents import lines
from kumihimo.engine.agents.calls import Call, Calls
from kumihimo.engine.agents.client import (
    SERVER_NAME,
    TOKEN_VARIABLE,
    Client,
    Door,
    Ending,
    Order,
    Reader,
    Start,
    Verdict,
)
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
from kumihimo.engine.agents.usage import added

# Where it keeps the chats, by project: linked even where the user has none yet.
_KEPT = ("tmp", "history")
# An API's HTTP status comes out as the exit code, cut to a byte: 401, 403, 429.
_EXIT_CODES: dict[int, FailureReason] = {
    41: "auth",
    55: "permission",
    145: "auth",
    147: "permission",
    173: "rate_limited",
}
# Tools with a file, and whether they make it. A write is answered with nothing but "success": a new file can't be told
# from one that was overwritten, unless the stream has shown it before.
_FILE_TOOLS: dict[str, bool | None] = {"write_file": None, "replace": False, "read_file": None}
# A comment, which its settings may have, or a string in which there can be none.
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
# How much of the last answer is kept, in characters, to be told at the end.
_LONGEST_ANSWER = 200_000


class GeminiCli(Client):
    name = "gemini-cli"
    programs = ("gemini",)

    def start(self, order: Order) -> Start:
        arguments = ["--output-format", "stream-json", "--approval-mode", "yolo"]
        if order.writable:
            arguments += ["--include-directories", ",".join(str(folder) for folder in order.writable)]
        if order.model:
            arguments += ["-m", order.model]
        if order.resume:
            arguments += ["--resume", order.resume]
        # Without a relaunch the process that we signal is the one that works.
        environment = {"GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_NO_RELAUNCH": "true", "NO_COLOR": "1"}
        if order.door is None:
            return Start(tuple(arguments), environment, headed(order))
        own, users = order.private_folder / "gemini", order.home.expanduser() / ".gemini"
        environment["GEMINI_CLI_HOME"] = str(own)
        files = {own / ".gemini" / "settings.json": settings_with(users / "settings.json", order.door)}
        links = {own / ".gemini" / name: users / name for name in sorted({*_KEPT, *entries(users)})}
        return Start(tuple(arguments), environment, headed(order), files, links)

    def attend(self, order: Order) -> Start:
        start = self.start(order)
        words, files = spoken(order, start.stdin)
        kept = without(start.argv, {"--output-format": 1, "--approval-mode": 1})
        return replace(start, argv=("-i", words, *kept), stdin="", files={**start.files, **files})

    def reader(self, before: Usage = UNUSED) -> Reader:
        return GeminiReader(before)

    def judge(self, seen: Finished | Failed | None, ending: Ending, errors: str) -> Verdict:
        verdict = super().judge(seen, ending, errors)
        if verdict.reason == "exited" and ending.exit_code in _EXIT_CODES:
            return msgspec.structs.replace(verdict, reason=_EXIT_CODES[ending.exit_code])
        return verdict


def settings_with(file: Path, door: Door) -> str:
    """The user's settings with our MCP server. Settings that can't be read are the CLI's to complain about, when it is
    used by hand: a run goes on with ours alone."""
    try:
        written = _COMMENT.sub(lambda found: found[1] or " ", file.read_text())
        settings = lines.table_of(written) or {}
    except (OSError, UnicodeDecodeError):
        settings = {}
    server = {"httpUrl": door.url, "headers": {"Authorization": f"Bearer ${TOKEN_VARIABLE}"}, "trust": True}
    settings["mcpServers"] = {**lines.inner(settings, "mcpServers"), SERVER_NAME: server}
    settings["general"] = {**lines.inner(settings, "general"), "enableAutoUpdate": False}
    return msgspec.json.encode(settings).decode()


def entries(folder: Path) -> list[str]:
    """What a user's folder holds beside the settings."""
    try:
        return [entry.name for entry in folder.iterdir() if entry.name != "settings.json"]
    except OSError:
        return []


class GeminiReader(Reader):
    def __init__(self, before: Usage) -> None:
        self._before = before
        self._calls = Calls()
        self._session = ""
        self._words: list[str] = []
        self._room = _LONGEST_ANSWER

    def read(self, line: bytes) -> Iterable[Happening]:
        table = lines.table_of(line)
        if table is None:
            return ()
        match table.get("type"):
            case "message":
                return self._message(table)
            case "tool_use":
                return self._called(table)
            case "tool_result":
                return self._answered(table)
            case "init":
                session = lines.text(table, "session_id")
                if not session or session == self._session:
                    return ()
                self._session = session
                return (SessionOpened(session, lines.text(table, "model") or None),)
            case "error":
                return (Warned(lines.text(table, "message")[:2000]),)
            case "result":
                return self._result(table)
            case _:
                return ()

    def _message(self, table: lines.Table) -> list[Happening]:
        """An answer comes in pieces, until a tool is called or it is over."""
        partial = table.get("delta") is True
        if table.get("role") != "assistant" or not partial:
            self._forget()
        if table.get("role") != "assistant":
            return []
        piece = lines.text(table, "content")
        if self._room > 0:
            self._words.append(piece[: self._room])
            self._room -= len(piece)
        return [Said(piece, partial)]

    def _forget(self) -> None:
        self._words.clear()
        self._room = _LONGEST_ANSWER

    def _called(self, table: lines.Table) -> list[Happening]:
        self._forget()
        tool, given = lines.text(table, "tool_name"), lines.inner(table, "parameters")
        path = lines.text(given, "file_path") or lines.text(given, "absolute_path") if tool in _FILE_TOOLS else ""
        creates = _FILE_TOOLS.get(tool)
        if tool == "replace" and given.get("old_string") == "":
            creates = True
        return self._calls.begin(lines.text(table, "tool_id"), Call(tool, path, creates), given)

    def _answered(self, table: lines.Table) -> list[Happening]:
        ok = table.get("status") == "success"
        call, found = self._calls.answer(lines.text(table, "tool_id"), ok)
        if not call or not call.path or not ok:
            return found
        if call.tool == "read_file":
            self._calls.saw(call.path)
            return found
        return [*found, *self._calls.wrote(call.path, call.creates)]

    def _result(self, table: lines.Table) -> list[Happening]:
        stats = lines.inner(table, "stats")
        used = added(self._before, Usage(lines.count(stats, "input_tokens"), lines.count(stats, "output_tokens")))
        if table.get("status") == "success":
            return [used, Finished("".join(self._words) or None)]
        message = lines.text(lines.inner(table, "error"), "message") or "failed"
        return [used, failure(message, at=lines.moment(table, "timestamp"))]
