"""Cursor's `agent -p --output-format stream-json`, as its documentation has it."""

from __future__ import annotations

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.files import write_all
from kumihimo.testing.agents.voice import STDERR, Answer, Call, Voice, letters, span, uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = {"write": "writeToolCall", "edit": "editToolCall", "shell": "shellToolCall", "mcp": "mcpToolCall"}


class Cursor(Voice):
    version = "2026.11.01-scripted"
    default_model = "Auto"
    session_options = ()

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._said: list[str] = []

    def opening(self) -> None:
        self.put({
            "type": "system", "subtype": "init", "apiKeySource": "env", "cwd": self.folder, "session_id": self.session,
            "model": self.model, "permissionMode": "default",
        })  # fmt: skip
        content = [{"type": "text", "text": self.prompt}]
        self.put({"type": "user", "message": {"role": "user", "content": content}, "session_id": self.session})

    def message(self, text: str) -> bytes:
        self._said.append(text)
        message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        return json_text.line({"type": "assistant", "message": message, "session_id": self.session})

    def call(self, call: Call) -> None:
        # Its ids have a line end in them.
        call.told = letters("call_") + "\n" + letters("fc_")
        self._tool_call("started", call, {})

    def answer(self, call: Call, answer: Answer) -> None:
        if not answer.ok:
            result: dict[str, Any] = {"error": {"errorMessage": answer.text}}
        elif call.path:
            result = {"success": {"path": call.path, "linesCreated": 1, "fileSize": 1}}
        elif call.kind == "shell":
            result = {"success": {"stdout": answer.text, "stderr": "", "exitCode": answer.exit_code}}
        else:
            result = {"success": {"content": [{"text": {"text": answer.text}}], "isError": False}}
        self._tool_call("completed", call, {"result": result})

    def finish(self) -> None:
        used = {
            "inputTokens": self.used.input,
            "outputTokens": self.used.output,
            "cacheReadTokens": 0,
            "cacheWriteTokens": 0,
        }
        self.put({
            "type": "result", "subtype": "success", "duration_ms": self.elapsed_ms(), "duration_api_ms": self.elapsed_ms(),
            "is_error": False, "result": "".join(self._said), "session_id": self.session, "request_id": uuid(),
            "usage": used,
        })  # fmt: skip

    def fail(self, kind: str, message: str, resets_in: float | None) -> int:
        """On stderr, with no event."""
        words = {"rate_limit": "429 rate limit", "auth": "401 not logged in"}.get(kind, "error")
        more = f" try again in {span(resets_in)}" if resets_in is not None else ""
        write_all(STDERR, f"{words}: {message}{more}\n".encode())
        return 1

    def _tool_call(self, subtype: str, call: Call, result: dict[str, Any]) -> None:
        given: dict[str, Any] = call.arguments
        if call.kind == "write":
            given = {"path": call.path, "fileText": given["text"]}
        elif call.kind == "edit":
            given = {"path": call.path, "oldString": given["old"], "newString": given["new"]}
        elif call.kind == "mcp":
            about = {"providerIdentifier": call.server, "toolName": call.name}
            given = {"name": f"{call.server}-{call.name}", "args": given, **about}
        told: dict[str, Any] = {_TOOLS.get(call.kind, ""): {"args": {**given, "toolCallId": call.told}, **result}}
        if call.kind == "tool":
            told = {"function": {"name": call.name, "arguments": json_text.dumps(given)}, **result.get("result", {})}
        self.put({
            "type": "tool_call", "subtype": subtype, "call_id": call.told, "tool_call": told, "session_id": self.session,
        })  # fmt: skip
