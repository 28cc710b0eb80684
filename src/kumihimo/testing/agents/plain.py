"""A program that speaks in plain lines and knows nothing of streams: what it prints is what it says."""

from __future__ import annotations

import os

from kumihimo.testing.agents.files import write_all
from kumihimo.testing.agents.voice import STDERR, STDOUT, Answer, Call, Voice, span


class Plain(Voice):
    version = "scripted-agent 1.0"
    resume_options = ("--resume", "-r")

    def message(self, text: str) -> bytes:
        return text.encode("utf-8", "surrogateescape") + b"\n"

    def call(self, call: Call) -> None:
        what = call.path or call.arguments.get("command") or ""
        write_all(STDOUT, f"[{call.name or call.kind}] {what}".rstrip().encode() + b"\n")

    def answer(self, call: Call, answer: Answer) -> None:
        if answer.text and call.kind != "tool":
            write_all(STDOUT, answer.text.rstrip("\n").encode() + b"\n")

    def fail(self, kind: str, message: str, resets_in: float | None) -> int:
        words = {"rate_limit": "429 rate limit exceeded", "auth": "401 not logged in"}.get(kind, "error")
        more = f" (resets in {span(resets_in)})" if resets_in is not None else ""
        os.write(STDERR, f"{words}: {message}{more}\n".encode())
        return 1
