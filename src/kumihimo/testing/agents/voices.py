"""Which file plays which CLI. Only the one that is asked for is loaded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kumihimo.testing.agents.voice import Voice

# File and class.
VOICES = {
    "claude-code": ("claude", "Claude"),
    "codex": ("codex", "Codex"),
    "gemini-cli": ("gemini", "Gemini"),
    "opencode": ("opencode", "Opencode"),
    "copilot": ("copilot", "Copilot"),
    "qwen-code": ("qwen", "Qwen"),
    "cursor": ("cursor", "Cursor"),
    "text": ("plain", "Plain"),
}


def voice_of(client: str) -> type[Voice]:
    module, name = VOICES[client]
    found = __import__(f"kumihimo.testing.agents.{module}", fromlist=[name])
    return getattr(found, name)
