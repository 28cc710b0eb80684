"""opencode, `run --format json`: steps of the model, and each tool only when it is done."""

from __future__ import annotations

import os
import time

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.voice import Answer, Call, Voice, hang, letters, status_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TOOLS = {"write": "write", "edit": "edit", "shell": "bash"}


class Opencode(Voice):
    version = "1.18.33"
    default_model = "scripted/model"
    resume_options = ("--session", "-s")
    session_options = ()

    def new_session(self) -> str:
        return "ses_" + os.urandom(13).hex()

    def opening(self) -> None:
        self.put_raw(self._step_start())

    def message(self, text: str) -> bytes:
        return self._line("text", {"type": "text", "text": text})

    def call(self, call: Call) -> None:
        call.told = (letters("call_"), _milliseconds())

    def answer(self, call: Call, answer: Answer) -> None:
        identity, began = call.told
        state: dict[str, Any] = {"status": "completed" if answer.ok else "error", "input": _given(call)}
        if not answer.ok:
            state["error"] = answer.text
        else:
            state.update(output=_output(call, answer), metadata=_metadata(call, answer), title=_title(call))
        # A command that ran and did not succeed is no error of the tool.
        if call.kind == "shell" and not answer.ok:
            state.update(status="completed", output=answer.text, metadata=_metadata(call, answer), title=_title(call))
            del state["error"]
        state["time"] = {"start": began, "end": _milliseconds()}
        name = f"{call.server}_{call.name}" if call.kind == "mcp" else _TOOLS.get(call.kind, call.name)
        part = {"type": "tool", "tool": name, "callID": identity, "state": state}
        self.put_raw(self._line("tool_use", part) + self._step_finish("tool-calls", 0, 0) + self._step_start())

    def finish(self) -> None:
        """There is no last line: a step that stops is the end. It carries the tokens of the run."""
        self.put_raw(self._step_finish("stop", self.used.input, self.used.output))

    def fail(self, kind: str, message: str, resets_in: float | None) -> int:
        if kind == "rate_limit":
            # It says nothing and tries again for ever.
            hang()
        status = status_of(kind)
        data = {"message": message, "statusCode": status, "isRetryable": resets_in is not None}
        self.put({
            "type": "error", "timestamp": _milliseconds(), "sessionID": self.session,
            "error": {"name": "APIError", "data": data},
        })  # fmt: skip
        return 1

    def _step_start(self) -> bytes:
        return self._line("step_start", {"type": "step-start"})

    def _step_finish(self, reason: str, given: int, answered: int) -> bytes:
        tokens = {
            "total": given + answered, "input": given, "output": answered, "reasoning": 0,
            "cache": {"write": 0, "read": 0},
        }  # fmt: skip
        cost = self.used.cost if given and self.used.cost is not None else 0
        return self._line("step_finish", {"type": "step-finish", "reason": reason, "tokens": tokens, "cost": cost})

    def _line(self, kind: str, part: dict[str, Any]) -> bytes:
        about = {"id": letters("prt_"), "messageID": "msg_scripted", "sessionID": self.session}
        return json_text.line({
            "type": kind, "timestamp": _milliseconds(), "sessionID": self.session, "part": {**part, **about},
        })  # fmt: skip


def _given(call: Call) -> dict[str, Any]:
    if call.kind == "write":
        return {"filePath": call.path, "content": call.arguments["text"]}
    if call.kind == "edit":
        return {"filePath": call.path, "oldString": call.arguments["old"], "newString": call.arguments["new"]}
    return call.arguments


def _output(call: Call, answer: Answer) -> str:
    return {"write": "Wrote file successfully.", "edit": "Edit applied successfully."}.get(call.kind, answer.text)


def _metadata(call: Call, answer: Answer) -> dict[str, Any]:
    if call.kind == "write":
        return {"diagnostics": {}, "filepath": call.path, "exists": not call.created, "truncated": False}
    if call.kind == "edit":
        diff = f"-{call.arguments['old']}\n+{call.arguments['new']}\n"
        changed = {"file": call.path, "patch": diff, "additions": 1, "deletions": 1}
        return {"diagnostics": {}, "diff": diff, "filediff": changed, "truncated": False}
    if call.kind == "shell":
        return {"output": answer.text, "exit": answer.exit_code, "truncated": False}
    return {"truncated": False}


def _title(call: Call) -> str:
    return call.path.rpartition("/")[2] or call.arguments.get("command", "")


def _milliseconds() -> int:
    return int(time.time() * 1000)
