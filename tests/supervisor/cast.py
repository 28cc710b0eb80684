"""Twenty agents of which everything is known beforehand: what each prints, calls, and how it ends."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from kumihimo.domain.execution import Execution
from kumihimo.testing.scripts import Script

from .home import Home

SIZE = 20
# What Codex says before anything happens.
_OPENING = 2
_ENDS = [
    # How it ends, lines of that, status, exit code, signal, reason.
    ("finish", 1, "completed", 0, None, None),
    ("code", 1, "failed", 3, None, "exited"),
    ("quiet", 0, "failed", 0, None, "protocol"),
    ("killed", 0, "failed", 137, "SIGKILL", "signalled"),
    ("finish", 1, "completed", 0, None, None),
]


class Part(Struct, frozen=True):
    """What one agent does. It waits for the gate between its two halves."""

    number: int

    @property
    def name(self) -> str:
        return f"agent-{self.number}"

    @property
    def words(self) -> list[str]:
        return [f"{half} {n} of {self.name}" for half in ("first", "second") for n in range(1, self.number + 4)]

    @property
    def tools(self) -> int:
        return self.number % 4

    @property
    def line_count(self) -> int:
        return _OPENING + len(self.words) + 2 * self.tools + _ENDS[self.number % 5][1]

    def script(self, home: Home, gate: Path) -> Script:
        script = home.script(self.name).lines(self.number + 3, text=f"first {{n}} of {self.name}")
        for n in range(self.tools):
            script.tool("search", query=n)
        script.wait(gate).lines(self.number + 3, text=f"second {{n}} of {self.name}")
        match _ENDS[self.number % 5][0]:
            case "code":
                return script.ends(3)
            case "quiet":
                return script.silent()
            case "killed":
                return script.die("KILL")
            case _:
                return script

    def require(self, home: Home, run: Execution) -> None:
        """It is all there, once."""
        _, _, status, code, signal, reason = _ENDS[self.number % 5]
        assert (run.status, run.exit_code, run.signal, run.failure_reason) == (status, code, signal, reason)
        seen = home.seen(run)
        assert (seen.lines, seen.tool_calls) == (self.line_count, self.tools)
        lines = home.lines(run)
        assert len(lines) == self.line_count
        for words in self.words:
            assert sum(f'"{words}"' in line for line in lines) == 1, words


CAST = [Part(number) for number in range(SIZE)]


def begin(home: Home, gate: Path) -> list[Execution]:
    return home.run(*(part.script(home, gate) for part in CAST))


def require_all(home: Home, runs: list[Execution]) -> None:
    """Every agent ran once, every line is accounted for once, and every end is the true one."""
    ended = home.ended(runs)
    starts = [record["name"] for record in home.records("start")]
    assert sorted(starts) == sorted(part.name for part in CAST)
    for part, run in zip(CAST, ended, strict=True):
        part.require(home, run)
    assert home.holding_slots() == 0
