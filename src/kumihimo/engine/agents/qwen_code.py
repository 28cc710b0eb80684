"""Qwen Code: `qwen --output-format stream-json`, which speaks nearly as Claude Code does.

`--mcp-config` would give our token away, because nothing in it is expanded; the settings file is. A run with our tools
therefore gets a settings folder of its own, made as for Gemini CLI, of which this CLI is a descendant.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from kumihimo.engine.agents import lines
from kumihimo.engine.agents.claude_code import ClaudeReader
from kumihimo.engine.agents.client import Client, Order, Reader, Start
from kumihimo.engine.agents.gemini_cli import entries, settings_with
from kumihimo.engine.agents.happenings import UNUSED, Usage, Used
from kumihimo.engine.agents.prompts import fits, headed, spoken, without
from kumihimo.engine.agents.usage import since


class QwenCode(Client):
    name = "qwen-code"
    programs = ("qwen",)

    def start(self, order: Order) -> Start:
        arguments = ["--output-format", "stream-json", "--yolo"]
        if order.writable:
            arguments += ["--include-directories", ",".join(str(folder) for folder in order.writable)]
        added = bool(order.system_prompt) and fits(order.system_prompt)
        if added:
            arguments += ["--append-system-prompt", order.system_prompt]
        if order.model:
            arguments += ["-m", order.model]
        if order.resume:
            arguments += ["--resume", order.resume]
        stdin = order.prompt if added else headed(order)
        # Without a relaunch the process that we signal is the one that works.
        environment = {"QWEN_CODE_NO_RELAUNCH": "true", "NO_COLOR": "1"}
        if order.door is None:
            return Start(tuple(arguments), environment, stdin)
        own, users = order.private_folder / "qwen" / ".qwen", order.home.expanduser() / ".qwen"
        environment["QWEN_HOME"] = str(own)
        # The same home in the manner of Gemini CLI, for a program that goes by that.
        environment["QWEN_CLI_HOME"] = str(own.parent)
        # Chats stay where the user's are, so that a later run can resume them.
        environment["QWEN_RUNTIME_DIR"] = str(users)
        files = {own / "settings.json": settings_with(users / "settings.json", order.door)}
        links = {own / name: users / name for name in entries(users)}
        return Start(tuple(arguments), environment, stdin, files, links)

    def attend(self, order: Order) -> Start:
        start = self.start(order)
        words, files = spoken(order, start.stdin)
        kept = without(start.argv, {"--output-format": 1, "--yolo": 0})
        return replace(start, argv=("-i", words, *kept), stdin="", files={**start.files, **files})

    def reader(self, before: Usage = UNUSED) -> Reader:
        return QwenReader(before)


class QwenReader(ClaudeReader):
    writers: ClassVar[dict[str, bool | None]] = {**ClaudeReader.writers, "write_file": None, "edit": None}

    def _succeeded(self, table: lines.Table) -> bool:
        """An API that failed ends the run as a success, with exit code 0 and the error for an answer."""
        return super()._succeeded(table) and not lines.text(table, "result").startswith("[API Error:")

    def _used(self, table: lines.Table) -> Used:
        """Told for the whole conversation, also where it was resumed."""
        usage = lines.inner(table, "usage")
        return since(self._before, Usage(lines.count(usage, "input_tokens"), lines.count(usage, "output_tokens")))
