"""The agent CLIs by name. Only the one that is asked for is imported."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from kumihimo.engine.agents.client import Client

# Name, file in this room, class.
_CLIENTS: dict[str, tuple[str, str]] = {
    "claude-code": ("claude_code", "ClaudeCode"),
    "codex": ("codex", "Codex"),
    "gemini-cli": ("gemini_cli", "GeminiCli"),
    "opencode": ("opencode", "Opencode"),
    "copilot": ("copilot", "Copilot"),
    "qwen-code": ("qwen_code", "QwenCode"),
    "cursor": ("cursor", "Cursor"),
    "command": ("command", "Command"),
}

NAMES: tuple[str, ...] = tuple(_CLIENTS)


class UnknownClient(KeyError):
    """No agent CLI has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def find(name: str) -> Client:
    """The client of this name. Raises UnknownClient."""
    if name not in _CLIENTS:
        raise UnknownClient(name)
    return _imported(name)()


@cache
def _imported(name: str) -> type[Client]:
    file, kind = _CLIENTS[name]
    return getattr(import_module(f"kumihimo.engine.agents.{file}"), kind)
