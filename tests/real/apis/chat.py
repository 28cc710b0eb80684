"""OpenAI Chat Completions: opencode, Qwen Code, Copilot and many others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.real.apis.api import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    Api,
    Conversation,
    Event,
    Reply,
    Tool,
    identity,
    pieces,
    text_of,
)

_USAGE = {
    "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}  # fmt: skip


class Chat(Api):
    name = "chat"

    def serves(self, path: str) -> bool:
        return path.endswith("/chat/completions")

    def read(self, path: str, body: dict[str, Any]) -> Conversation:
        found = Conversation(body["model"], bool(body.get("stream")))
        found.tools = [Tool(tool["function"]["name"]) for tool in body.get("tools") or [] if "function" in tool]
        for message in body["messages"]:
            role, content = message["role"], message.get("content")
            if role in ("system", "developer"):
                found.system += text_of(content) + "\n"
            elif role == "tool":
                found.add("result", content)
            else:
                found.add("model" if role == "assistant" else "user", content)
        return found

    def whole(self, conversation: Conversation, reply: Reply) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = _calls(reply)
        choice = {"index": 0, "message": message, "finish_reason": _reason(reply)}
        return {**_about(conversation, "chat.completion"), "choices": [choice], "usage": _USAGE}

    def stream(self, conversation: Conversation, reply: Reply) -> Iterator[Event]:
        about = _about(conversation, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
            return Event({**about, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(reply.text):
            yield chunk({"content": piece})
        for call in _calls(reply):
            yield chunk({"tool_calls": [call]})
        yield chunk({}, _reason(reply))
        yield Event({**about, "choices": [], "usage": _USAGE})
        yield Event("[DONE]")

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        kinds = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
        kind = kinds.get(status, "server_error")
        return {"error": {"message": message, "type": kind, "code": kind, "param": None}}


def _about(conversation: Conversation, kind: str) -> dict[str, Any]:
    return {"id": identity("chatcmpl-"), "object": kind, "created": 0, "model": conversation.model}


def _reason(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "index": index, "id": identity("call_"), "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
        }
        for index, call in enumerate(reply.calls)
    ]  # fmt: skip
