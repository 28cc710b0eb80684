"""Anthropic Messages: Claude Code."""

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

_ERRORS = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


class Anthropic(Api):
    name = "anthropic"

    def serves(self, path: str) -> bool:
        return path.endswith("/messages")

    def read(self, path: str, body: dict[str, Any]) -> Conversation:
        found = Conversation(body["model"], bool(body.get("stream")), text_of(body.get("system")))
        found.tools = [Tool(tool["name"]) for tool in body.get("tools") or [] if "name" in tool]
        for message in body["messages"]:
            blocks = message["content"]
            for block in [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks:
                if block["type"] == "tool_result":
                    found.add("result", block.get("content"))
                elif block["type"] in ("text", "tool_use"):
                    found.add("model" if message["role"] == "assistant" else "user", block)
        return found

    def whole(self, conversation: Conversation, reply: Reply) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
        blocks += [
            {"type": "tool_use", "id": identity("toolu_"), "name": call.name, "input": call.arguments}
            for call in reply.calls
        ]
        return {
            "id": identity("msg_"), "type": "message", "role": "assistant", "model": conversation.model, "content": blocks,
            "stop_reason": "tool_use" if reply.calls else "end_turn", "stop_sequence": None, "usage": _usage(OUTPUT_TOKENS),
        }  # fmt: skip

    def stream(self, conversation: Conversation, reply: Reply) -> Iterator[Event]:
        message = self.whole(conversation, reply)
        yield _event("message_start", message={**message, "content": [], "stop_reason": None, "usage": _usage(1)})
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty: dict[str, Any] = {"text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
            else:
                empty = {"input": {}}
                parts = pieces(json.dumps(block["input"]))
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in parts]
            yield _event("content_block_start", index=index, content_block={**block, **empty})
            for delta in deltas:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield _event("message_delta", delta=stop, usage=message["usage"])
        yield _event("message_stop")

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": _ERRORS.get(status, "api_error"), "message": message}}


def _event(kind: str, **about: Any) -> Event:
    return Event({"type": kind, **about}, kind)


def _usage(answered: int) -> dict[str, int]:
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    return {"input_tokens": INPUT_TOKENS, **cache, "output_tokens": answered}
