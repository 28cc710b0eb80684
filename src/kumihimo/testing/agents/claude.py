"""Claude Code, `--output-format stream-json --verbose`."""

from __future__ import annotations

import time

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.voice import Answer, Call, Voice, letters, now_iso, status_of, uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = {"write": "Write", "edit": "Edit", "shell": "Bash"}
_ERRORS = {
    "rate_limit": ("rate_limit", "rate_limit_error", "API Error: Request rejected (429) · "),
    "auth": ("authentication_failed", "authentication_error", "Failed to authenticate. API Error: 401 "),
    "error": ("server_error", "api_error", "API Error: 500 "),
}


class Claude(Voice):
    version = "2.1.325 (Claude Code)"
    default_model = "claude-sonnet-4-5"
    exit_code_on_term = 143

    def opening(self) -> None:
        self.put({
            "type": "system", "subtype": "init", "cwd": self.folder, "session_id": self.session,
            "tools": ["Task", "Bash", "Edit", "NotebookEdit", "Read", "Skill", "ToolSearch", "WebFetch", "WebSearch", "Write"],
            "mcp_servers": [], "model": self.model, "permissionMode": "acceptEdits", "slash_commands": ["clear", "compact"],
            "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": "2.1.325", "output_style": "default",
            "agents": ["claude", "general-purpose"], "skills": [], "plugins": [], "uuid": uuid(),
        })  # fmt: skip

    def message(self, text: str) -> bytes:
        return json_text.line(self._assistant({"type": "text", "text": text}))

    def call(self, call: Call) -> None:
        self.turns += 1
        call.told = letters("toolu_")
        name, given = _TOOLS.get(call.kind, call.name), call.arguments
        if call.kind == "mcp":
            name = f"mcp__{call.server}__{call.name}"
        elif call.kind == "write":
            given = {"file_path": call.path, "content": call.arguments["text"]}
        elif call.kind == "edit":
            given = {
                "replace_all": False, "file_path": call.path,
                "old_string": call.arguments["old"], "new_string": call.arguments["new"],
            }  # fmt: skip
        elif call.kind == "shell":
            given = {**given, "description": "Run the command"}
        self.put(self._assistant({"type": "tool_use", "id": call.told, "name": name, "input": given}))

    def answer(self, call: Call, answer: Answer) -> None:
        result: dict[str, Any] = {"tool_use_id": call.told, "type": "tool_result", "content": answer.text}
        details: Any = f"Error: {answer.text}"
        if not answer.ok:
            if call.kind == "shell":
                result["content"] = f"Exit code {answer.exit_code}\n{answer.text}"
            result["is_error"] = True
        elif call.kind == "write":
            done = "File created successfully at: " if call.created else "The file has been updated successfully: "
            result["content"] = done + call.path
            details = {
                "type": "create" if call.created else "update", "filePath": call.path,
                "content": call.arguments["text"], "structuredPatch": [], "userModified": False,
            }  # fmt: skip
        elif call.kind == "edit":
            result["content"] = f"The file {call.path} has been updated successfully."
            details = {
                "filePath": call.path, "oldString": call.arguments["old"], "newString": call.arguments["new"],
                "structuredPatch": [], "userModified": False, "replaceAll": False,
            }  # fmt: skip
        elif call.kind == "shell":
            result["is_error"] = False
            details = {"stdout": answer.text, "stderr": "", "interrupted": False, "isImage": False}
        else:
            result["content"] = details = [{"type": "text", "text": answer.text}]
        self.put({
            "type": "user", "message": {"role": "user", "content": [result]}, **self._around(), "tool_use_result": details,
        })  # fmt: skip

    def finish(self) -> None:
        self._result(self.last_text)

    def fail(self, kind: str, message: str, resets_in: float | None) -> int:
        error, error_type, words = _ERRORS[kind]
        status = status_of(kind)
        self.put({
            "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 1, "retry_delay_ms": 610,
            "error_status": status, "error": error, "session_id": self.session, "uuid": uuid(),
        })  # fmt: skip
        if resets_in is not None:
            window = {"status": "rejected", "resetsAt": int(time.time() + resets_in), "rateLimitType": "five_hour"}
            self.put(
                {"type": "rate_limit_event", "rate_limit_info": window, "uuid": uuid(), "session_id": self.session}
            )
        text = words + message
        event = self._assistant({"type": "text", "text": text})
        event["message"].update(model="<synthetic>", stop_reason="stop_sequence", stop_sequence="", usage=_tokens(0, 0))
        about = {"is_api_error_message": True, "api_error_status": status, "api_error_type": error_type}
        self.put({**event, "error": error, **about})
        self._result(text, status, error_type)
        return 1

    def _assistant(self, block: dict[str, Any]) -> dict[str, Any]:
        message = {
            "id": letters("msg_"), "type": "message", "role": "assistant", "model": self.model, "content": [block],
            "stop_reason": None, "stop_sequence": None, "usage": _tokens(100, 1), "context_management": None,
        }  # fmt: skip
        return {"type": "assistant", "message": message, **self._around()}

    def _around(self) -> dict[str, Any]:
        return {"parent_tool_use_id": None, "session_id": self.session, "uuid": uuid(), "timestamp": now_iso()}

    def _result(self, text: str, status: int | None = None, error_type: str | None = None) -> None:
        """The last line. Its tokens are of this run; what it costs, and `modelUsage`, are of the whole conversation."""
        used = self.used
        cost = _cost(self.used) + _cost(self.before)
        whole = {
            "inputTokens": used.input + self.before.input, "outputTokens": used.output + self.before.output,
            "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0, "webSearchRequests": 0, "costUSD": cost,
            "contextWindow": 200000, "maxOutputTokens": 32000,
        }  # fmt: skip
        self.put({
            "duration_api_ms": 0, "stop_reason": "end_turn" if status is None else "stop_sequence",
            "session_id": self.session, "total_cost_usd": cost, "usage": _tokens(used.input, used.output),
            "modelUsage": {self.model: whole}, "permission_denials": [],
            "terminal_reason": "completed" if status is None else "api_error", "is_error": status is not None,
            "num_turns": max(self.turns, 1), "subtype": "success", "api_error_status": status,
            **({"api_error_type": error_type} if error_type else {}),
            "result": text, "type": "result", "duration_ms": self.elapsed_ms(), "uuid": uuid(),
        })  # fmt: skip


def _tokens(given: int, answered: int) -> dict[str, Any]:
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": given, **cache, "output_tokens": answered}


def _cost(used: Any) -> float:
    """This CLI always says a cost: without one in the script, that of a list price."""
    return used.cost if used.cost is not None else (used.input * 3 + used.output * 15) / 1_000_000
