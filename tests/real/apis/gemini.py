"""Gemini generateContent and streamGenerateContent: Gemini CLI."""

from __future__ import annotations

import re
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

_PATH = re.compile(r"/models/([^/:]+):(generateContent|streamGenerateContent)$")
_STATUS = {401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


class Gemini(Api):
    name = "gemini"

    def serves(self, path: str) -> bool:
        return _PATH.search(path) is not None

    def read(self, path: str, body: dict[str, Any]) -> Conversation:
        match = _PATH.search(path)
        assert match is not None
        found = Conversation(match[1], match[2] == "streamGenerateContent", text_of(body.get("systemInstruction")))
        for group in body.get("tools") or []:
            found.tools += [Tool(tool["name"]) for tool in group.get("functionDeclarations") or []]
        wanted = body.get("generationConfig") or {}
        found.schema = wanted.get("responseJsonSchema") or wanted.get("responseSchema")
        for content in body["contents"]:
            for part in content.get("parts") or []:
                if "functionResponse" in part:
                    found.add("result", part["functionResponse"].get("response"))
                elif "functionCall" in part or part.get("text"):
                    found.add("model" if content.get("role") == "model" else "user", part)
        return found

    def whole(self, conversation: Conversation, reply: Reply) -> dict[str, Any]:
        return self._response(conversation, _parts(reply), "STOP")

    def stream(self, conversation: Conversation, reply: Reply) -> Iterator[Event]:
        for part in _parts(reply):
            yield Event(self._response(conversation, [part], None))
        yield Event(self._response(conversation, [{"text": ""}], "STOP"))

    def refusal(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"code": status, "message": message, "status": _STATUS.get(status, "INTERNAL")}}

    def _response(self, conversation: Conversation, parts: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
        response = {"candidates": [candidate], "modelVersion": conversation.model, "responseId": identity("")}
        if reason is None:
            return response
        candidate["finishReason"] = reason
        total = INPUT_TOKENS + OUTPUT_TOKENS
        usage = {"promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS, "totalTokenCount": total}
        return {**response, "usageMetadata": usage}


def _parts(reply: Reply) -> list[dict[str, Any]]:
    calls = [
        {"functionCall": {"id": identity("call_"), "name": call.name, "args": call.arguments}} for call in reply.calls
    ]
    return [*({"text": piece} for piece in pieces(reply.text)), *calls]
