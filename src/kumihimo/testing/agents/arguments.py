"""What a CLI is given: options, the prompt, the script in it, and the conversation that it goes on with."""

from __future__ import annotations

import os

from kumihimo.testing.agents import json_text
from kumihimo.testing.agents.files import read_bytes, read_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kumihimo.testing.agents.voice import Voice

MARK = "[[play:"
MARK_END = "]]"


def option(arguments: list[str], names: tuple[str, ...]) -> str | None:
    """The last value of an option, given as `--name value` or `--name=value`."""
    found = options(arguments, names)
    return found[-1] if found else None


def options(arguments: list[str], names: tuple[str, ...]) -> list[str]:
    values: list[str] = []
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if argument in names and place + 1 < len(arguments):
            values.append(arguments[place + 1])
        elif equals and name in names:
            values.append(value)
    return values


def resumed(client: str, voice: type[Voice], arguments: list[str]) -> str | None:
    """The conversation to go on with, or the id that a new one is to have."""
    if client == "codex":
        words = arguments[arguments.index("resume") + 1 :] if "resume" in arguments else []
        return next((word for word in words if _looks_like_id(word)), None)
    if "--fork-session" in arguments:
        return option(arguments, voice.session_options)
    return option(arguments, voice.resume_options) or option(arguments, voice.session_options)


def _looks_like_id(word: str) -> bool:
    return len(word) == 36 and word.count("-") == 4


def prompt_of(arguments: list[str]) -> str:
    """What stands on stdin, unless an argument has the script: then stdin may stay open and nobody reads it."""
    if any(MARK in argument for argument in arguments):
        return arguments[-1]
    try:
        if os.isatty(0):
            return ""
        text = read_bytes(0).decode("utf-8", "replace")
    except OSError:
        return ""
    return _streamed(text) if text.startswith('{"type":"user"') else text


def _streamed(text: str) -> str:
    """The words in the lines of `--input-format stream-json`."""
    words: list[str] = []
    for line in text.splitlines():
        content = json_text.loads(line)["message"]["content"]
        words += [content] if isinstance(content, str) else [block.get("text", "") for block in content]
    return "\n".join(words)


def script_in(prompt: str, arguments: list[str]) -> dict[str, Any] | None:
    """The script of the last mark: what an earlier agent was told may be quoted before it."""
    for text in (prompt, *reversed(arguments)):
        place = text.rfind(MARK)
        if place >= 0:
            return _script_at(text, place + len(MARK))
    return None


def _script_at(text: str, start: int) -> dict[str, Any]:
    if text[start] == "{":
        return json_text.scan(text, start)[0]
    return script_file(text[start : text.index(MARK_END, start)])


def script_file(path: str) -> dict[str, Any]:
    return json_text.loads(read_text(path))
