"""Gemini CLI, `--output-format stream-json`."""

from __future__ import annotations

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.voice import Answer, Call, Voice, letters, now_iso, span, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = {"write": "write_file", "edit": "replace", "shell": "run_shell_command"}
# Text comes in pieces that are to be put together.
_PIECE = 40
_LONGEST_IN_PIECES = 4000


class Gemini(Voice):
    version = "0.61.0"
    default_model = "gemini-2.5-pro"
    # It ends well when it is told to end, and says nothing.
    exit_code_on_term = 0

    def opening(self) -> None:
        self._event("init", session_id=self.session, model=self.model)
        self._event("message", role="user", content=self.prompt)

    def message(self, text: str) -> bytes:
        size = _PIECE if len(text) <= _LONGEST_IN_PIECES else len(text)
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        about = {"type": "message", "timestamp": now_iso(), "role": "assistant"}
        return b"".join(json_text.line({**about, "content": piece, "delta": True}) for piece in pieces)

    def call(self, call: Call) -> None:
        self.calls += 1
        name, given = _TOOLS.get(call.kind, call.name), call.arguments
        if call.kind == "mcp":
            name = f"mcp_{call.server}_{call.name}"
        elif call.kind == "write":
            given = {"file_path": call.path, "content": given["text"]}
        elif call.kind == "edit":
            given = {
                "file_path": call.path, "old_string": given["old"], "new_string": given["new"],
                "instruction": "change the file",
            }  # fmt: skip
        call.told = f"{name}__{letters('call_')}"
        self._event("tool_use", tool_name=name, tool_id=call.told, parameters=given)

    def answer(self, call: Call, answer: Answer) -> None:
        more: dict[str, Any] = {} if call.path and answer.ok else {"output": answer.text}
        if not answer.ok:
            more["error"] = {"type": "shell_execute_error", "message": answer.text}
        self._event("tool_result", tool_id=call.told, status="success" if answer.ok else "error", **more)

    def finish(self) -> None:
        self._event("result", status="success", stats=self._stats(self.used.input, self.used.output))

    def fail(self, kind: str, message: str, resets_in: float | None) -> int:
        status = status_of(kind)
        if kind == "rate_limit":
            if resets_in is not None:
                message = (
                    f"You have exhausted your capacity on this model. Your quota will reset after {span(resets_in)}."
                )
            text = f"[API Error: {message}]\nPlease wait and try again later. To increase your limits, request a quota increase"
        else:
            word = "UNAUTHENTICATED" if kind == "auth" else "INTERNAL"
            error = json_text.dumps({"error": {"code": status, "message": message, "status": word}})
            text = f"[API Error: {error}]"
        self._event("result", status="error", error={"type": "unknown", "message": text}, stats=self._stats(0, 0))
        return status % 256

    def _event(self, kind: str, **about: Any) -> None:
        self.put({"type": kind, "timestamp": now_iso(), **about})

    def _stats(self, given: int, answered: int) -> dict[str, Any]:
        tokens = {
            "total_tokens": given + answered, "input_tokens": given, "output_tokens": answered, "cached": 0, "input": given,
        }  # fmt: skip
        return {**tokens, "duration_ms": self.elapsed_ms(), "tool_calls": self.calls, "models": {self.model: tokens}}
