"""Values of a script that are known only when it is played: from the prompt, the environment, an answer of a server."""

from __future__ import annotations

import os

from kumihimo.testing.agents import json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Placeholders:
    def __init__(self, prompt: str, known: dict[str, str]) -> None:
        self._prompt = prompt
        self._known = {**known, "pid": str(os.getpid())}
        self._answers: dict[str, str] = {}

    def remember(self, tool: str, answer: str) -> None:
        self._answers[tool] = answer

    def filled(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self.filled(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, list):
            return [self.filled(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, str) and "{{" in value:
            return self._text(value)
        return value

    def _text(self, text: str) -> str:
        parts: list[str] = []
        while "{{" in text:
            before, _, rest = text.partition("{{")
            inside, end, text = rest.partition("}}")
            parts += [before, self._value(inside) if end else "{{" + inside]
        return "".join([*parts, text])

    def _value(self, word: str) -> str:
        """`prompt:REGEX` (its first group, or all of it), `env:NAME`, `answer:TOOL.key.key`, `name`, `pid`, `cwd`, `session`."""
        kind, _, detail = word.partition(":")
        if kind == "prompt":
            import re

            match = re.search(detail, self._prompt)
            return (match[1] if match.re.groups else match[0]) if match else ""
        if kind == "env":
            return os.environ.get(detail, "")
        if kind == "answer":
            return self._from_answer(detail)
        return self._known.get(word, "{{" + word + "}}")

    def _from_answer(self, detail: str) -> str:
        tool, *path = detail.split(".")
        text = self._answers.get(tool, "")
        if not path:
            return text
        value = json_text.loads(text)
        for key in path:
            value = value[int(key) if key.isdigit() else key]
        return value if isinstance(value, str) else json_text.dumps(value)
