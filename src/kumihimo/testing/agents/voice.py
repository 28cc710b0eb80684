"""What every CLI's voice can tell. Each file beside this one tells it in the words of one CLI."""

from __future__ import annotations

import os
import time

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.files import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

STDOUT = 1
STDERR = 2


class Call:
    """A tool call. `kind`: tool, write, edit, shell or mcp; `told` is the voice's own note on it."""

    def __init__(self, kind: str, name: str, arguments: dict[str, Any], **about: Any) -> None:
        self.kind = kind
        self.name = name
        self.arguments = arguments
        # Of a file.
        self.path: str = about.get("path", "")
        self.created: bool = about.get("created", False)
        # Of MCP.
        self.server: str = about.get("server", "")
        self.told: Any = None


class Answer:
    """What came of a call."""

    def __init__(self, ok: bool, text: str = "", exit_code: int = 0) -> None:
        self.ok = ok
        self.text = text
        self.exit_code = exit_code


class Usage:
    def __init__(self, tokens: dict[str, Any] | None) -> None:
        tokens = tokens or {}
        self.input: int = tokens.get("input", 0)
        self.output: int = tokens.get("output", 0)
        self.cost: float | None = tokens.get("cost")

    def add(self, other: Usage) -> None:
        self.input += other.input
        self.output += other.output
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost


class Voice:
    """One CLI's stream. It says nothing by itself: the player calls it."""

    version = "scripted 1.0"
    default_model = "scripted-model"
    # What TERM does to this CLI: the exit code of its own handler, or None where it has none and dies of it.
    exit_code_on_term: int | None = None
    # Where the id of a conversation that is resumed stands in its arguments.
    resume_options = ("--resume", "-r")
    session_options = ("--session-id",)

    def __init__(self, folder: str, prompt: str, model: str | None, session: str | None) -> None:
        self.folder = folder
        self.prompt = prompt
        self.model = model or self.default_model
        self.session = session or self.new_session()
        self.last_text = ""
        self.turns: int = 0
        self.calls: int = 0
        # Of this run, and of the conversation before it.
        self.used = Usage(None)
        self.before = Usage(None)
        self.started = time.monotonic()

    def new_session(self) -> str:
        return uuid()

    def put(self, event: dict[str, Any]) -> None:
        write_all(STDOUT, json_text.line(event))

    def put_raw(self, data: bytes) -> None:
        write_all(STDOUT, data)

    def elapsed_ms(self) -> int:
        return int((time.monotonic() - self.started) * 1000)

    def say(self, text: str) -> None:
        """Whole texts are remembered: the last one is the answer."""
        self.last_text = text
        self.turns += 1
        write_all(STDOUT, self.message(text))

    # What a voice has to know.

    def message(self, text: str) -> bytes:
        """The line, or lines, by which the agent says something."""
        raise NotImplementedError

    def opening(self) -> None:
        """What comes before anything happens."""

    def call(self, call: Call) -> None:
        """A call is made."""
        raise NotImplementedError

    def answer(self, call: Call, answer: Answer) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """The terminal event of success."""

    def fail(self, kind: str, message: str, resets_in: float | None) -> int:
        """The end of a run that the model's API refused. `kind`: rate_limit, auth or error. The exit code."""
        raise NotImplementedError


def hang() -> NoReturn:
    while True:
        time.sleep(3600)


def uuid() -> str:
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def letters(prefix: str) -> str:
    return prefix + os.urandom(8).hex()


def now_iso(ahead: float = 0.0) -> str:
    """`2026-11-15T18:43:16.587Z`, or the time that many seconds from now."""
    at = time.time() + ahead
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at * 1000) % 1000:03d}Z"


def status_of(kind: str) -> int:
    """The HTTP status behind a failure."""
    return {"rate_limit": 429, "auth": 401}.get(kind, 500)


def span(seconds: float) -> str:
    """`3h23m8s`"""
    whole = round(seconds)
    return f"{whole // 3600}h{whole % 3600 // 60}m{whole % 60}s"
