"""Captured streams of the real CLIs, and what a reader makes of one, in a form that a test can write down."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from kumihimo.engine.agents import registry
from kumihimo.engine.agents.client import Ending, Verdict
from kumihimo.engine.agents.happenings import (
    UNUSED,
    Failed,
    FileChanged,
    Finished,
    Happening,
    Said,
    SessionOpened,
    ToolAnswered,
    ToolCalled,
    Usage,
    Used,
    Warned,
)

_FOLDER = Path(__file__).parent / "streams"
_EXIT_CODES: dict[str, dict[str, int | None]] = msgspec.json.decode((_FOLDER / "exit_codes.json").read_bytes())

STREAMS = sorted((file.parent.name, file.stem) for file in _FOLDER.glob("*/*.jsonl"))


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stream in short. A file that was created has a +, one of which that is a guess a ?."""

    session: str | None = None
    model: str | None = None
    said: tuple[str, ...] = ()
    # Each with how it was answered: "Bash ok", "Bash failed", "Bash" where it was not.
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    # Tokens in, tokens out, and money where it is told.
    used: tuple[int, int, float | None] | None = None
    # "finished: the last words", or the reason of a failure with its message.
    end: str | None = None
    # What is made of it with the exit code that the run had: a reason, or "success".
    verdict: str = "success"


def lines_of(client: str, name: str) -> list[bytes]:
    return (_FOLDER / client / f"{name}.jsonl").read_bytes().splitlines()


def ending_of(client: str, name: str) -> Ending:
    """A code that is not known is that of a run that we had to kill."""
    code = _EXIT_CODES[client][name]
    if code is None:
        return Ending(signal=9)
    return Ending(signal=-code) if code < 0 else Ending(exit_code=code)


def happenings_of(client: str, lines: Iterable[bytes], before: Usage = UNUSED) -> list[Happening]:
    reader = registry.find(client).reader(before)
    return [happening for line in lines for happening in reader.read(line)]


def terminal_of(happenings: list[Happening]) -> Finished | Failed | None:
    return next((one for one in reversed(happenings) if isinstance(one, Finished | Failed)), None)


def judged(client: str, lines: Iterable[bytes], ending: Ending, errors: str = "") -> Verdict:
    return registry.find(client).judge(terminal_of(happenings_of(client, lines)), ending, errors)


def expected(client: str) -> dict[str, Told]:
    """What a person has checked, by the stream's name."""
    return msgspec.json.decode((_FOLDER / client / "told.json").read_bytes(), type=dict[str, Told])


def told(client: str, lines: list[bytes], ending: Ending) -> Told:
    happenings = happenings_of(client, lines)
    opened = [one for one in happenings if isinstance(one, SessionOpened)]
    answers = {one.call: " ok" if one.ok else " failed" for one in happenings if isinstance(one, ToolAnswered)}
    used = [one.run for one in happenings if isinstance(one, Used)]
    return Told(
        session=opened[-1].session if opened else None,
        model=opened[-1].model if opened else None,
        said=tuple(f"{'…' if one.partial else ''}{one.text}" for one in happenings if isinstance(one, Said)),
        tools=tuple(one.tool + answers.get(one.call, "") for one in happenings if isinstance(one, ToolCalled)),
        files=tuple(
            f"{'+' if one.created else ''}{'?' if one.guessed else ''}{one.path}"
            for one in happenings
            if isinstance(one, FileChanged)
        ),
        warned=tuple(one.message for one in happenings if isinstance(one, Warned)),
        used=(used[-1].input_tokens, used[-1].output_tokens, _cents(used[-1].cost_usd)) if used else None,
        end=_end(terminal_of(happenings)),
        verdict=judged(client, lines, ending).reason or "success",
    )


def _cents(cost: float | None) -> float | None:
    return None if cost is None else round(cost, 6)


def _end(terminal: Finished | Failed | None) -> str | None:
    match terminal:
        case Finished(text):
            return f"finished: {text}"
        case Failed(reason, message):
            return f"{reason}: {message}"
        case None:
            return None
