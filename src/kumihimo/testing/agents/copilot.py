"""Copilot CLI, `--output-format json`: every event has its data, an id and that of the event before it."""

from __future__ import annotations

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.voice import Answer, Call, Voice, letters, now_iso, status_of, uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Copilot(Voice):
    version = "GitHub Copilot CLI 1.0.102"
    default_model = "scripted-model"

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self._before_this = uuid()
        self._changed: list[str] = []

    def opening(self) -> None:
        self.put(self._event("session.mcp_servers_loaded", {"servers": []}, ephemeral=True))
        self.put(self._event("session.tools_updated", {"model": self.model}, ephemeral=True))
        self.put(self._event("user.message", {"content": self.prompt, "messageId": uuid(), "turnId": "0"}))

    def message(self, text: str) -> bytes:
        about: dict[str, Any] = {"messageId": uuid(), "model": self.model, "content": text, "toolRequests": []}
        events = [
            self._event("assistant.turn_start", {"turnId": str(self.turns)}),
            self._event(
                "assistant.message_delta", {"messageId": about["messageId"], "deltaContent": text}, ephemeral=True
            ),
            self._event("assistant.message", about),
            self._event("assistant.turn_end", {"turnId": str(self.turns)}),
        ]
        return b"".join(json_text.line(event) for event in events)

    def call(self, call: Call) -> None:
        self.turns += 1
        name, given, server = _named(call)
        call.told = {"toolCallId": letters("call_"), "toolName": name}
        request = {
            "toolCallId": call.told["toolCallId"],
            "name": name,
            "arguments": given,
            "type": "function",
            **server,
        }
        turn = str(self.turns)
        self.put(self._event("assistant.turn_start", {"turnId": turn}))
        about = {"messageId": uuid(), "model": self.model, "content": "", "toolRequests": [request], "turnId": turn}
        self.put(self._event("assistant.message", about))
        started = {**call.told, "arguments": given, "turnId": turn, "model": self.model, **server}
        self.put(self._event("tool.execution_start", started))

    def answer(self, call: Call, answer: Answer) -> None:
        about: dict[str, Any] = {"toolCallId": call.told["toolCallId"], "model": self.model, "turnId": str(self.turns)}
        text = answer.text
        if call.path and answer.ok:
            about["fileEdits"] = [{"path": call.path, "kind": "create" if call.created else "edit"}]
            text = f"Created file {call.path}" if call.created else f"File {call.path} updated with changes."
            self._changed.append(call.path)
        if answer.ok:
            about["result"] = {"content": text, "detailedContent": text}
        else:
            about["error"] = {"message": text, "code": "failure"}
        self.put(self._event("tool.execution_complete", {**about, "success": answer.ok}))
        self.put(self._event("assistant.turn_end", {"turnId": str(self.turns)}))

    def finish(self) -> None:
        self._result(0)

    def fail(self, kind: str, message: str, resets_in: float | None) -> int:
        status = status_of(kind)
        kinds = {"rate_limit": "rate_limit", "auth": "authentication"}
        if resets_in is not None:
            message = f"{message} Please try again in {round(resets_in)} seconds."
        about = {"errorType": kinds.get(kind, "query"), "message": message, "statusCode": status}
        self.put(self._event("model.call_failure", {"model": self.model, "statusCode": status}, ephemeral=True))
        self.put(self._event("session.error", about))
        self._result(1)
        return 1

    def _event(self, kind: str, data: dict[str, Any], *, ephemeral: bool = False) -> dict[str, Any]:
        event: dict[str, Any] = {"type": kind, "data": data, "id": uuid(), "timestamp": now_iso()}
        event["parentId"] = self._before_this
        if ephemeral:
            event["ephemeral"] = True
        else:
            self._before_this = event["id"]
        return event

    def _result(self, code: int) -> None:
        changes = {
            "linesAdded": len(self._changed),
            "linesRemoved": 0,
            "filesModified": list(dict.fromkeys(self._changed)),
        }
        spent = {"totalApiDurationMs": 0, "sessionDurationMs": self.elapsed_ms()}
        usage = {"premiumRequests": 0, **spent, "codeChanges": changes}
        self.put(
            {"type": "result", "timestamp": now_iso(), "sessionId": self.session, "exitCode": code, "usage": usage}
        )


def _named(call: Call) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The tool's name, what it is given, and its server where it has one."""
    given = call.arguments
    if call.kind == "mcp":
        name = f"{call.server}-{call.name}"
        return name, given, {"mcpServerName": call.server, "mcpToolName": call.name}
    if call.kind == "write" and call.created:
        return "create", {"path": call.path, "file_text": given["text"]}, {}
    if call.kind == "write":
        return "edit", {"path": call.path, "old_str": "", "new_str": given["text"]}, {}
    if call.kind == "edit":
        return "edit", {"path": call.path, "old_str": given["old"], "new_str": given["new"]}, {}
    return ("bash" if call.kind == "shell" else call.name), given, {}
