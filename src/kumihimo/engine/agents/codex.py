"""Codex: `codex exec --json`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kumihimo.engine.agents import lines
from kumihimo.engine.agents.calls import Call, Calls
from kumihimo.engine.agents.client import SERVER_NAME, TOKEN_VARIABLE, Client, Order, Reader, Start
from kumihimo.engine.agents.faults import failure
from kumihimo.engine.agents.happenings import UNUSED, Finished, Happening, Said, SessionOpened, Usage, Warned
from kumihimo.engine.agents.prompts import fits, headed, spoken, without
from kumihimo.engine.agents.usage import since

# Items that are no call of a tool.
_WORDS = frozenset({"agent_message", "reasoning", "todo_list", "error", "user_message", "plan_update"})
_NAMES = {"command_execution": "shell", "file_change": "apply_patch", "web_search": "web_search"}


class Codex(Client):
    name = "codex"
    programs = ("codex",)

    def start(self, order: Order) -> Start:
        arguments = ["exec", "--json", "--skip-git-repo-check", "-s", "workspace-write"]
        for folder in (*order.writable, *_git_folder(order)):
            arguments += ["--add-dir", str(folder)]
        arguments += ["-c", "check_for_update_on_startup=false"]
        if order.door:
            # Approved beforehand: with nobody to ask, every call would be refused. Required: without our tools an agent
            # would go on in silence.
            server = (
                f"{{url={_toml(order.door.url)},bearer_token_env_var={_toml(TOKEN_VARIABLE)},required=true,"
                'default_tools_approval_mode="approve",startup_timeout_sec=30,tool_timeout_sec=900}'
            )
            arguments += ["-c", f"mcp_servers.{SERVER_NAME}={server}"]
        added = bool(order.system_prompt) and fits(order.system_prompt)
        if added:
            arguments += ["-c", f"developer_instructions={_toml(order.system_prompt)}"]
        if order.model:
            arguments += ["-m", order.model]
        if order.resume:
            arguments += ["resume", order.resume]
        return Start((*arguments, "-"), stdin=order.prompt if added else headed(order))

    def start_approved(self, order: Order) -> Start:
        start = self.start(order)
        command, *rest = without(start.argv, {"-s": 1, "--add-dir": 1})
        return replace(start, argv=(command, "--dangerously-bypass-approvals-and-sandbox", *rest))

    def attend(self, order: Order) -> Start:
        start = self.start(order)
        words, files = spoken(order, start.stdin)
        headless = {"exec": 0, "--json": 0, "--skip-git-repo-check": 0, "-": 0}
        return replace(start, argv=(*without(start.argv, headless), words), stdin="", files=files)

    def reader(self, before: Usage = UNUSED) -> Reader:
        return CodexReader(before)


class CodexReader(Reader):
    def __init__(self, before: Usage) -> None:
        self._before = before
        self._calls = Calls()
        self._session = ""
        self._last = ""

    def read(self, line: bytes) -> Iterable[Happening]:
        table = lines.table_of(line)
        if table is None:
            return ()
        match table.get("type"):
            case "item.started" | "item.updated":
                return self._begun(lines.inner(table, "item"))
            case "item.completed":
                return self._completed(lines.inner(table, "item"))
            case "thread.started":
                session = lines.text(table, "thread_id")
                if not session or session == self._session:
                    return ()
                self._session = session
                return (SessionOpened(session),)
            case "turn.completed":
                told = lines.inner(table, "usage")
                whole = Usage(lines.count(told, "input_tokens"), lines.count(told, "output_tokens"))
                return (since(self._before, whole), Finished(self._last or None))
            case "turn.failed":
                return (failure(lines.text(lines.inner(table, "error"), "message") or "the turn failed"),)
            case "error":
                # "Reconnecting… 1/5": it goes on, or says turn.failed.
                return (Warned(lines.text(table, "message")[:2000]),)
            case _:
                return ()

    def _begun(self, item: lines.Table) -> list[Happening]:
        kind = lines.text(item, "type")
        if kind in _WORDS or not ("status" in item or kind in _NAMES):
            return []
        return self._calls.begin(lines.text(item, "id"), Call(_name(kind, item)), _arguments(kind, item))

    def _completed(self, item: lines.Table) -> list[Happening]:
        match item.get("type"):
            case "agent_message":
                self._last = lines.text(item, "text")
                return [Said(self._last)]
            case "error":
                return [Warned(lines.text(item, "message")[:2000])]
            case _:
                pass
        found = self._begun(item)
        if not found and lines.text(item, "type") in _WORDS:
            return []
        ok = item.get("status") in (None, "completed") and not item.get("error") and item.get("exit_code") in (None, 0)
        call, answered = self._calls.answer(lines.text(item, "id"), ok)
        if call is None:
            return found
        found += answered
        refusal = lines.text(lines.inner(item, "error"), "message")
        if "approval" in refusal:
            found.append(Warned(refusal[:2000]))
        if ok and item.get("type") == "file_change":
            for change in lines.rows(item, "changes"):
                # What is deleted is not written.
                if change.get("kind") in ("add", "update"):
                    found += self._calls.wrote(lines.text(change, "path"), change.get("kind") == "add")
        return found


def _git_folder(order: Order) -> tuple[Path, ...]:
    """A worktree's own folder inside the repository's. The sandbox protects it even where the folder around it may be
    written, unless it is named itself; without it nothing can be committed."""
    try:
        pointer = (order.working_directory / ".git").read_text()
    except (OSError, UnicodeDecodeError):
        return ()
    folder = Path(pointer.removeprefix("gitdir:").strip())
    inside = pointer.startswith("gitdir:") and any(folder.is_relative_to(parent) for parent in order.writable)
    return (folder,) if inside and folder not in order.writable else ()


def _name(kind: str, item: lines.Table) -> str:
    if kind == "mcp_tool_call":
        return f"mcp__{lines.text(item, 'server')}__{lines.text(item, 'tool')}"
    return _NAMES.get(kind) or lines.text(item, "tool") or kind


def _arguments(kind: str, item: lines.Table) -> object:
    match kind:
        case "mcp_tool_call":
            return item.get("arguments")
        case "command_execution":
            return {"command": item.get("command")}
        case "file_change":
            return {lines.text(change, "kind"): lines.text(change, "path") for change in lines.rows(item, "changes")}
        case _:
            return {"query": item.get("query")} if "query" in item else ""


def _toml(value: str) -> str:
    """A TOML string. JSON's is one too, once the control character that only JSON allows is escaped."""
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
