"""An agent: a durable identity with a role, the CLI that plays it, and what it may touch."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from kumihimo.domain.event import Change
from kumihimo.domain.states import StateTable

AgentStatus = Literal["active", "inactive", "archived"]
AgentType = Literal["ai", "human"]

STATES = StateTable(
    "agent",
    ("active",),
    {
        ("active", "deactivate"): "inactive",
        ("inactive", "activate"): "active",
        ("active", "archive"): "archived",
        ("inactive", "archive"): "archived",
        ("archived", "activate"): "active",
    },
)

# The CLIs that can play an agent, by our name for them, and the vendor's short word for a Runner.
CLIENTS: dict[str, str] = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini-cli": "gemini",
    "opencode": "opencode",
    "copilot": "copilot",
    "qwen-code": "qwen",
    "cursor": "cursor",
    "command": "command",
}


class Scope(Struct, frozen=True):
    """Globs: what may be written (everything where empty) and what is not even checked out."""

    write: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class Agent(Struct, frozen=True):
    id: str
    name: str
    type: AgentType
    status: AgentStatus
    client: str
    model: str | None
    role: str
    system_prompt: str
    capabilities: tuple[str, ...]
    dod: tuple[str, ...]
    scope: Scope
    created_at: datetime
    updated_at: datetime

    def move(self, action: str, at: datetime) -> Change[Agent]:
        """activate, deactivate or archive."""
        status = STATES.next(self.name, self.status, action)
        return Change(replace(self, status=status, updated_at=at), f"agent.{status}", at)

    def edit(self, at: datetime, **fields: object) -> Change[Agent]:
        return Change(replace(self, **fields, updated_at=at), "agent.updated", at)


class BuiltIn(Struct, frozen=True):
    """An agent that every new project gets."""

    name: str
    role: str
    system_prompt: str


BUILT_INS: tuple[BuiltIn, ...] = (
    BuiltIn(
        "planner",
        "Breaks goals down into tasks",
        "You plan work. Read the goal and the code, then break the goal into small tasks that can be checked, "
        "say what depends on what, and name who should do each. You change no code.",
    ),
    BuiltIn(
        "coder",
        "Writes code and its tests",
        "You write code. Make the smallest change that does the whole task, with tests that fail without it, "
        "in the style of the files around it. Run the checks before you say that you are done.",
    ),
    BuiltIn(
        "reviewer",
        "Reads changes and finds what is wrong",
        "You review changes. Look for wrong behaviour, missing tests and needless complexity, in this order. "
        "Name the file and line, say what is wrong and what would be right. You change no code.",
    ),
    BuiltIn(
        "writer",
        "Writes documentation",
        "You write documentation. Try every command that you describe, write for somebody who is new here, "
        "and keep it short.",
    ),
)
