"""The journal of the host process: what it has to say, on standard error, as lines for people or as JSON for programs."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from typing import IO

import msgspec

from kumihimo.engine.processes.capture import strike_out
from kumihimo.settings import LEVELS, Level, LogSection

Field = str | float | None


class Journal:
    """Any thread may write. No line holds a token of ours, nor any of the secrets."""

    def __init__(
        self,
        section: LogSection,
        stream: IO[str] | None = None,
        *,
        secrets: tuple[bytes, ...] = (),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._json = section.format == "json"
        self._least = LEVELS.index(section.level)
        self._stream = stream or sys.stderr
        self._secrets = secrets
        self._clock = clock
        self._turn = threading.Lock()

    def say(self, text: str) -> None:
        """A sentence of somebody who has no other way to speak."""
        self.note("warning", "said", text)

    def note(self, level: Level, event: str, text: str = "", **fields: Field) -> None:
        """`event` is a word that stays the same; `text` is for people."""
        if LEVELS.index(level) < self._least:
            return
        told = {name: self._clean(value) for name, value in {"text": text, **fields}.items()}
        line = self._as_json(level, event, told) if self._json else _as_text(event, told)
        # Where the disk is full there is nobody left to tell, and work goes on.
        with self._turn, contextlib.suppress(OSError):
            self._stream.write(line + "\n")
            self._stream.flush()

    @contextlib.contextmanager
    def hears_everything(self) -> Generator[None]:
        """Where it speaks JSON, so does everything else in this process that writes lines: libraries, tracebacks, us."""
        if not self._json:
            yield
            return
        heard = _Lines(lambda line: self.note("info", "said", line)), _Lines(self.say)
        with contextlib.redirect_stdout(heard[0]), contextlib.redirect_stderr(heard[1]):
            yield

    def _as_json(self, level: Level, event: str, told: dict[str, Field]) -> str:
        text = told.pop("text")
        line = {"time": self._clock(), "level": level, "event": event, **({"text": text} if text else {}), **told}
        return msgspec.json.encode(line).decode()

    def _clean(self, value: Field) -> Field:
        if not isinstance(value, str):
            return value
        return strike_out(value.encode("utf-8", "replace"), self._secrets).decode()


def _as_text(event: str, told: dict[str, Field]) -> str:
    facts = " ".join(f"{name}={value}" for name, value in told.items() if name != "text" and value is not None)
    return " ".join(part for part in (str(told["text"] or event), f"({facts})" if facts else "") if part)


class _Lines(io.TextIOBase):
    """A stream that hands on whole lines. Each thread has its own, so that none gets into another's."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._begun = threading.local()

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        *lines, rest = (getattr(self._begun, "line", "") + text).split("\n")
        self._begun.line = rest
        for line in lines:
            if line.strip():
                self._tell(line)
        return len(text)
