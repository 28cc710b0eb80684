"""OpenAI Responses: Codex."""

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
    ToolCall,
    identity,
    pieces,
    text_of,
)


class Responses(Api):
    name = "responses"

    def serves(self, path: str) -> bool:
        return path.endswith("/responses")

    def read(self, path: str, body: dict[str, Any]) -> Conversation:
        found = Conversation(body["model"], bool(body.get("stream")), text_of(body.get("instructions")))
        for tool in body.get("tools") or []:
            if "tools" in tool:
                found.tools += [Tool(inner["name"], tool["name"]) for inner in tool["tools"]]
            else:
                found.tools.append(Tool(tool.get("name") or tool["type"]))
        given = body.get("input") or []
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            _add(found, item)
        return found

    def whole(self, conversation: Conversation, reply: Reply) -> dict[str, Any]:
        output: list[dict[str, Any]] = []
        if reply.text:
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            about = {"id": identity("msg_"), "role": "assistant", "status": "completed"}
            output.append({"type": "message", **about, "content": content})
        output += [_item(call) for call in reply.calls]
        return {
            "id": identity("resp_"), "object": "response", "created_at": 0, "model": conversation.model,
            "status": "completed", "output": output,
            "usage": {
                "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
            },
        }  # fmt: skip

    def stream(self, conversation: Conversation, reply: Reply) -> Iterator[Event]:
        done = self.whole(conversation, reply)
        number = 0

        def event(kind: str, **about: Any) -> Event:
            nonlocal number
            number += 1
            return Event({"type": kind, "sequence_number": number - 1, **about}, kind)

        yield event("response.created", response={**done, "status": "in_progress", "output": [], "usage": None})
        for index, item in enumerate(done["output"]):
            spoken = item["type"] == "message"
            yield event(
                "response.output_item.added", output_index=index, item={**item, "content": []} if spoken else item
            )
            for piece in pieces(reply.text) if spoken else []:
                about = {"item_id": item["id"], "output_index": index, "content_index": 0}
                yield event("response.output_text.delta", **about, delta=piece)
            yield event("response.output_item.done", output_index=index, item=item)
        yield event("response.completed", response=done)

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        kinds = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
        kind = kinds.get(status, "server_error")
        return {"error": {"message": message, "type": kind, "code": kind, "param": None}}


def _add(found: Conversation, item: dict[str, Any]) -> None:
    kind: str = item.get("type", "message")
    if kind.endswith("_call"):
        found.add("model", item)
    elif kind.endswith("_output"):
        found.add("result", item.get("output"))
    elif kind == "message" and item.get("role") in ("system", "developer"):
        found.system += "\n" + text_of(item.get("content"))
    elif kind == "message":
        found.add("model" if item.get("role") == "assistant" else "user", item.get("content"))


def _item(call: ToolCall) -> dict[str, Any]:
    about = {"id": identity("fc_"), "call_id": identity("call_"), "name": call.name, "status": "completed"}
    if call.group:
        about["namespace"] = call.group
    if call.freeform is not None:
        return {"type": "custom_tool_call", **about, "input": call.freeform}
    return {"type": "function_call", **about, "arguments": json.dumps(call.arguments)}
