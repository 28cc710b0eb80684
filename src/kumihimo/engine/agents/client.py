"""What every agent CLI is to us: a command line to start it, a reader of its stream, and a judge of its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from kumihimo.domain.execution import FailureReason
from kumihimo.engine.agents.faults import failure
from kumihimo.engine.agents.happenings import UNUSED, Failed, Finished, Happening, Usage

# The name under which an agent finds our MCP server, and the variable that holds its token: a secret is never an argument.
SERVER_NAME = "kumihimo"
TOKEN_VARIABLE = "KUMI_RUN_TOKEN"  # noqa: S105 (its name, not its value)

_ERRORS_READ = 2000
# How a program that ends itself on HUP, INT, KILL or TERM, or a shell around it, says so.
_BY_SIGNAL = frozenset({129, 130, 137, 143})


class Door(Struct, frozen=True):
    """Our MCP, as a run reaches it. The token itself is in the run's environment, under TOKEN_VARIABLE."""

    url: str


class Order(Struct, frozen=True):
    """A run that is to be started."""

    prompt: str
    working_directory: Path
    # A folder of this run alone, 0700, that outlives it as long as its logs do: for settings files.
    private_folder: Path
    system_prompt: str = ""
    model: str | None = None
    # The CLI's own conversation to go on with.
    resume: str | None = None
    door: Door | None = None
    # Folders outside the working directory that may be written as well (a worktree's git folder).
    writable: tuple[Path, ...] = ()
    # Where the user's own settings and logins are.
    home: Path = Path("~")


class Start(Struct, frozen=True):
    """How to start it. `files` are written, 0600, before anything runs."""

    argv: tuple[str, ...]
    environment: dict[str, str] = {}
    stdin: str = ""
    files: dict[Path, str] = {}
    # Links to make in the private folder: where they stand, and what they point to. A target that is not there is a folder
    # that the starter makes first, 0700: a conversation that is kept there can then be resumed by a later run.
    links: dict[Path, Path] = {}


class Ending(Struct, frozen=True):
    """How a process ended: one of the two, never both."""

    exit_code: int | None = None
    signal: int | None = None


class Verdict(Struct, frozen=True):
    """What came of a run. Without a reason it is a success."""

    reason: FailureReason | None = None
    message: str | None = None
    reset_at: datetime | None = None
    # Seconds from now, where the CLI gives no moment.
    reset_after: float | None = None


class Reader(ABC):
    """Reads one stream, from its first line to its last. It depends on nothing but the lines, so that a stream can be
    read again from the start with the same outcome."""

    @abstractmethod
    def read(self, line: bytes) -> Iterable[Happening]:
        """What this line tells. Never raises: what is no JSON, no UTF-8 or not known tells nothing."""


class Client(ABC):
    """One agent CLI."""

    name: ClassVar[str]
    # Its program, by the names that it may have; the first that is on PATH is taken.
    programs: ClassVar[tuple[str, ...]]
    # Arguments that print the models it knows, where it can.
    models_arguments: ClassVar[tuple[str, ...] | None] = None
    resumable: ClassVar[bool] = True

    @abstractmethod
    def start(self, order: Order) -> Start:
        """Its arguments without the program, with what they need around them."""

    def start_approved(self, order: Order) -> Start:
        """As `start`, with the CLI's own word for approving everything. Most need that anyway when nobody is there."""
        return self.start(order)

    def attend(self, order: Order) -> Start:
        """For a person at a terminal, whom it may ask: the prompt is its first one. As `start` where it knows no other way."""
        return self.start(order)

    @abstractmethod
    def reader(self, before: Usage = UNUSED) -> Reader:
        """`before` is what the conversation had used when it is resumed."""

    def judge(self, seen: Finished | Failed | None, ending: Ending, errors: str) -> Verdict:
        """Success needs the terminal event and exit code 0. `errors` is the end of what it wrote to stderr: where nothing
        else says why it ended, a limit or a missing login is told there."""
        if isinstance(seen, Failed):
            return Verdict(seen.reason, seen.message, seen.reset_at, seen.reset_after)
        if ending.signal is not None:
            return Verdict("signalled", last_line(errors))
        if seen is None and ending.exit_code in _BY_SIGNAL:
            return Verdict("signalled", last_line(errors))
        if ending.exit_code != 0:
            found = failure(errors[-_ERRORS_READ:])
            return Verdict(found.reason, last_line(errors), found.reset_at, found.reset_after)
        if seen is None:
            return Verdict("protocol", last_line(errors))
        return Verdict()


def last_line(text: str) -> str | None:
    """The last thing that was said, for a person to read: the last error, where one is called so, since a stack trace or
    advice may follow it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "fatal"))]
    said = errors or lines
    return said[-1][:500] if said else None
