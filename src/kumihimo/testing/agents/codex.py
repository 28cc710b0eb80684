"""Codex, `exec --json`."""

from __future__ import annotations

import os
import time

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.voice import Answer, Call, Voice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Codex(Voice):
    version = "codex-cli 0.166.0"
    default_model = "gpt-5.5"
    # `codex exec resume ID` is a word, not an option: see arguments.py.
    resume_options = ()
    session_options = ()

    def new_session(self) -> str:
        """Its ids begin with the time."""
        text = f"{int(time.time() * 1000):012x}7{os.urandom(10).hex()}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-8{text[17:20]}-{text[20:32]}"

    def opening(self) -> None:
        self.put({"type": "thread.started", "thread_id": self.session})
        self.put({"type": "turn.started"})

    def message(self, text: str) -> bytes:
        return json_text.line({"type": "item.completed", "item": {**self._item("agent_message"), "text": text}})

    def call(self, call: Call) -> None:
        call.told = self._item("")
        self.put({"type": "item.started", "item": _described(call, None)})

    def answer(self, call: Call, answer: Answer) -> None:
        # A patch that is refused leaves a word on stderr and no event.
        if call.path and not answer.ok:
            os.write(2, f"patch rejected: {answer.text}\n".encode())
            return
        self.put({"type": "item.completed", "item": _described(call, answer)})

    def finish(self) -> None:
        # The tokens of the whole thread, also of what was before this run.
        self.put({"type": "turn.completed", "usage": {
            "input_tokens": self.used.input + self.before.input, "cached_input_tokens": 0, "cache_write_input_tokens": 0,
            "output_tokens": self.used.output + self.before.output, "reasoning_output_tokens": 0,
        }})  # fmt: skip

    def fail(self, kind: str, message: str, resets_in: float | None) -> int:
        if kind == "auth":
            message = f"unexpected status 401 Unauthorized: {message}, url: http://127.0.0.1/v1/responses"
            self.put({"type": "error", "message": f"Reconnecting... 1/1 ({message})"})
        elif kind == "rate_limit" and resets_in is None:
            message = "exceeded retry limit, last status: 429 Too Many Requests"
        elif kind == "rate_limit":
            minutes = max(1, round((resets_in or 0) / 60))
            days, hours = minutes // 1440, minutes % 1440 // 60
            left = [(days, "day"), (hours, "hour"), (minutes % 60, "minute")]
            words = " ".join(f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in left if count)
            message = (
                f"You've hit your usage limit. Visit the usage page to purchase more credits or try again in {words}."
            )
        self.put({"type": "error", "message": message})
        self.put({"type": "turn.failed", "error": {"message": message}})
        return 1

    def _item(self, kind: str) -> dict[str, Any]:
        self.calls += 1
        return {"id": f"item_{self.calls - 1}", "type": kind}


def _described(call: Call, answer: Answer | None) -> dict[str, Any]:
    """A call as an item: in progress, or with its answer."""
    item: dict[str, Any] = {"id": call.told["id"]}
    status = "in_progress" if answer is None else "completed" if answer.ok else "failed"
    if call.path:
        changes = [{"path": call.path, "kind": "add" if call.created else "update"}]
        return {**item, "type": "file_change", "changes": changes, "status": status}
    if call.kind == "shell":
        command = "/bin/bash -lc '" + call.arguments["command"].replace("'", "'\\''") + "'"
        output, code = ("", None) if answer is None else (answer.text, answer.exit_code)
        return {
            **item, "type": "command_execution", "command": command, "aggregated_output": output, "exit_code": code,
            "status": status,
        }  # fmt: skip
    result = None
    if answer is not None:
        result = {"content": [{"type": "text", "text": answer.text}], "structured_content": None}
    # It knows no other tools than those of servers.
    return {
        **item, "type": "mcp_tool_call", "server": call.server or "scripted", "tool": call.name,
        "arguments": call.arguments, "result": result, "error": None, "status": status,
    }  # fmt: skip
