"""The words that an agent is given: on stdin, or as an argument where that is the CLI's only way."""

from __future__ import annotations

from kumihimo.engine.agents.client import Order

# Linux takes no single argument above 128 KiB.
_LONGEST_ARGUMENT = 100_000


def fits(text: str) -> bool:
    """Whether it can be an argument at all."""
    return "\0" not in text and len(text.encode("utf-8", "replace")) <= _LONGEST_ARGUMENT


def headed(order: Order) -> str:
    """The prompt with the system prompt before it, for a CLI that has no way to add one to its own."""
    if not order.system_prompt.strip():
        return order.prompt
    return f"{order.system_prompt.rstrip()}\n\n---\n\n{order.prompt}"
