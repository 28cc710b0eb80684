"""Qwen Code, `--output-format stream-json`: made like Claude Code's, with fewer words."""

from __future__ import annotations

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.voice import Answer, Call, Usage, Voice, hang, letters, status_of, uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = {"write": "write_file", "edit": "edit", "shell": "run_shell_command"}


class Qwen(Voice):
    version = "0.15.10"
    default_model = "qwen3-coder-plus"

    def opening(self) -> None:
        self.put({
            "type": "system", "subtype": "init", "uuid": self.session, "session_id": self.session, "cwd": self.folder,
            "tools": ["tool_search", "read_file", "edit", "write_file", "run_shell_command"], "mcp_servers": [],
            "model": self.model, "permission_mode": "yolo", "slash_commands": ["clear"], "qwen_code_version": "0.15.10",
            "agents": ["general-purpose"],
        })  # fmt: skip

    def message(self, text: str) -> bytes:
        return json_text.line(self._assistant({"type": "text", "text": text}, None))

    def call(self, call: Call) -> None:
        self.turns += 1
        call.told = letters("call_")
        name, given = _TOOLS.get(call.kind, call.name), call.arguments
        if call.kind == "mcp":
            name = f"mcp__{call.server}__{call.name}"
        elif call.kind == "write":
            given = {"file_path": call.path, "content": given["text"]}
        elif call.kind == "edit":
            given = {"file_path": call.path, "old_string": given["old"], "new_string": given["new"]}
        self.put(self._assistant({"type": "tool_use", "id": call.told, "name": name, "input": given}, "tool_use"))

    def answer(self, call: Call, answer: Answer) -> None:
        text = answer.text
        if answer.ok and call.kind == "write":
            done = "Successfully created and wrote to new file" if call.created else "Successfully overwrote file"
            text = f"{done}: {call.path}."
        elif answer.ok and call.kind == "edit":
            text = f"The file: {call.path} has been updated."
        result = {"type": "tool_result", "tool_use_id": call.told, "is_error": not answer.ok, "content": text}
        self.put({"type": "user", **self._around(), "message": {"role": "user", "content": [result]}})

    def finish(self) -> None:
        self.put({
            "type": "result", "subtype": "success", "uuid": uuid(), "session_id": self.session, "is_error": False,
            "duration_ms": self.elapsed_ms(), "duration_api_ms": 0, "num_turns": max(self.turns, 1),
            "result": self.last_text, "permission_denials": [],
            # Of the whole conversation.
            "usage": _tokens(self.used.input + self.before.input, self.used.output + self.before.output),
        })  # fmt: skip

    def fail(self, kind: str, message: str, resets_in: float | None) -> int:  # noqa: ARG002 - it never says when
        """It says so as an answer of the model, and calls it a success."""
        if kind == "rate_limit":
            # In silence, it tries again for minutes.
            hang()
        self.used = Usage(None)
        self.say(f"[API Error: {status_of(kind)} {message}]")
        self.finish()
        return 0

    def _assistant(self, block: dict[str, Any], stop: str | None) -> dict[str, Any]:
        around = self._around()
        message = {
            "id": around["uuid"], "type": "message", "role": "assistant", "model": self.model, "content": [block],
            "stop_reason": stop, "usage": _tokens(100, 20),
        }  # fmt: skip
        return {"type": "assistant", **around, "message": message}

    def _around(self) -> dict[str, Any]:
        return {"uuid": uuid(), "session_id": self.session, "parent_tool_use_id": None}


def _tokens(given: int, answered: int) -> dict[str, int]:
    return {
        "input_tokens": given, "output_tokens": answered, "cache_read_input_tokens": 0, "total_tokens": given + answered,
    }  # fmt: skip
