"""The words that an agent is given: on stdin, or as an argument where that is the CLI's only way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kumihimo.engine.agents.client import Order

# Linux takes no single argument above 128 KiB.
_LONGEST_ARGUMENT = 100_000


def fits(text: str) -> bool:
    """Whether it can be an argument at all."""
    return "\0" not in text and len(text.encode("utf-8", "replace")) <= _LONGEST_ARGUMENT


def spoken(order: Order, words: str) -> tuple[str, dict[Path, str]]:
    """The prompt as an argument, and the file that it stands in where it is too long to be one."""
    if fits(words) and not words.startswith("-"):
        return words, {}
    file = order.private_folder / "task.md"
    return f"Read the file {file} and do what it says.", {file: words}


def without(arguments: Sequence[str], options: Mapping[str, int]) -> tuple[str, ...]:
    """Arguments without some options, each with so many values."""
    kept: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument in options:
            for _ in range(options[argument]):
                next(waiting)
        else:
            kept.append(argument)
    return tuple(kept)


def headed(order: Order) -> str:
    """The prompt with the system prompt before it, for a CLI that has no way to add one to its own."""
    if not order.system_prompt.strip():
        return order.prompt
    return f"{order.system_prompt.rstrip()}\n\n---\n\n{order.prompt}"
