"""An observation: what the stream of a run has shown so far. It follows from the lines alone and can be made again."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from kumihimo.domain.execution import FailureReason


class Usage(Struct, frozen=True):
    """Tokens and money. A cost that the CLI does not tell stays None: it is never made up."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class ToolUse(Struct, frozen=True):
    """One call that the agent attempted; `ok` is None until it is answered."""

    tool: str
    arguments: str = ""
    ok: bool | None = None


class Conclusion(Struct, frozen=True):
    """The terminal event of the stream. Without a reason it is a success."""

    reason: FailureReason | None = None
    message: str | None = None
    reset_at: datetime | None = None


class Observation(Struct, frozen=True):
    """`position` is how many bytes of the capture it accounts for, all of them whole lines."""

    execution_id: str
    position: int = 0
    lines: int = 0
    conversation: str | None = None
    model: str | None = None
    last_message: str | None = None
    tool_calls: int = 0
    recent_tools: tuple[ToolUse, ...] = ()
    edited_files: tuple[str, ...] = ()
    created_files: tuple[str, ...] = ()
    usage: Usage = Usage()
    conversation_usage: Usage = Usage()
    warning: str | None = None
    conclusion: Conclusion | None = None
