"""The observer: folds what a stream tells into the observation of its run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from kumihimo.domain.observation import Conclusion, Observation, ToolUse, Usage
from kumihimo.engine.agents.client import Reader
from kumihimo.engine.agents.happenings import (
    Failed,
    FileChanged,
    Finished,
    Happening,
    ModelNamed,
    Said,
    SessionOpened,
    ToolAnswered,
    ToolCalled,
    Used,
    Warned,
)

_RECENT = 10
_LONGEST_MESSAGE = 20_000
_MOST_FILES = 2_000


class Observer:
    """Depends on the lines alone: read again from the first, they give the same observation."""

    def __init__(self, execution_id: str, reader: Reader) -> None:
        self._id = execution_id
        self._read = reader.read
        self._lines = 0
        self._conversation: str | None = None
        self._model: str | None = None
        self._message: str | None = None
        self._message_goes_on = False
        self._tool_calls = 0
        self._recent: deque[tuple[str, ToolUse]] = deque(maxlen=_RECENT)
        self._created: dict[str, None] = {}
        self._edited: dict[str, None] = {}
        self._usage = Usage()
        self._conversation_usage = Usage()
        self._warning: str | None = None
        self._conclusion: Finished | Failed | None = None

    def observe(self, lines: Iterable[bytes]) -> None:
        read, take = self._read, self._take
        for line in lines:
            self._lines += 1
            for happening in read(line):
                take(happening)

    @property
    def conclusion(self) -> Finished | Failed | None:
        return self._conclusion

    def observation(self, position: int) -> Observation:
        """What was seen up to this position of the capture."""
        return Observation(
            execution_id=self._id,
            position=position,
            lines=self._lines,
            conversation=self._conversation,
            model=self._model,
            last_message=self._message,
            tool_calls=self._tool_calls,
            recent_tools=tuple(use for _, use in self._recent),
            edited_files=tuple(self._edited),
            created_files=tuple(self._created),
            usage=self._usage,
            conversation_usage=self._conversation_usage,
            warning=self._warning,
            conclusion=_conclusion(self._conclusion),
        )

    def _take(self, happening: Happening) -> None:
        match happening:
            case Said():
                self._say(happening)
            case ToolCalled(call, tool, arguments):
                self._tool_calls += 1
                self._recent.append((call, ToolUse(tool, arguments)))
                self._message_goes_on = False
            case ToolAnswered(call, ok):
                self._answer(call, ok)
            case FileChanged(path, created):
                self._change(path, created)
            case Used(run, conversation):
                self._usage, self._conversation_usage = run, conversation
            case SessionOpened(session, model):
                self._conversation, self._model = session, model or self._model
            case ModelNamed(model):
                self._model = model
            case Warned(message):
                self._warning = message[:_LONGEST_MESSAGE]
            case Finished() | Failed():
                self._conclusion = happening

    def _say(self, said: Said) -> None:
        if said.partial and self._message_goes_on and self._message is not None:
            self._message = (self._message + said.text)[:_LONGEST_MESSAGE]
        else:
            self._message = said.text[:_LONGEST_MESSAGE]
        self._message_goes_on = said.partial

    def _answer(self, call: str, ok: bool) -> None:
        for index, (known, use) in enumerate(self._recent):
            if known == call and use.ok is None:
                self._recent[index] = (known, ToolUse(use.tool, use.arguments, ok))
                return

    def _change(self, path: str, created: bool) -> None:
        """A file that was created and then edited was created."""
        if len(self._created) + len(self._edited) >= _MOST_FILES:
            return
        if created:
            self._edited.pop(path, None)
            self._created[path] = None
        elif path not in self._created:
            self._edited[path] = None


def _conclusion(seen: Finished | Failed | None) -> Conclusion | None:
    if isinstance(seen, Failed):
        return Conclusion(seen.reason, seen.message, seen.reset_at)
    return Conclusion(None, seen.text) if seen else None
