"""Scripts for the scripted agent, and how to start it. What the steps do is in the manual of `scripted_agent`."""

from __future__ import annotations

import base64
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any, Literal, Self

from kumihimo.testing.agents.arguments import MARK, MARK_END
from kumihimo.testing.agents.voices import VOICES

CLIENTS = tuple(VOICES)
PROGRAM = Path(__file__).with_name("scripted_agent.py")
# A run's id, where the prompt gives it: its own comes before those of others.
OWN_RUN = r"{{prompt:\bexec_[0-9a-z]+}}"
# What each CLI is called on PATH.
PROGRAMS = {
    "claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "opencode": "opencode", "copilot": "copilot",
    "qwen-code": "qwen", "cursor": "cursor-agent", "text": "agent",
}  # fmt: skip


class Script:
    """`Script("one", log=log).say("Hello").write("a.txt", "a").prompt()` is a prompt that makes the agent do that."""

    def __init__(self, name: str | None = None, *, log: Path | None = None, **about: Any) -> None:
        self.about: dict[str, Any] = about
        self.steps: list[dict[str, Any]] = []
        if name is not None:
            self.about["name"] = name
        if log is not None:
            self.about["log"] = str(log)

    # What is said.

    def say(self, text: str) -> Self:
        return self.step("say", text=text)

    def lines(self, count: int, *, every: float = 0.0, text: str = "line {n}") -> Self:
        """At once, or one every so many seconds."""
        return self.step("lines", count=count, every=every, text=text)

    def long_line(self, size: int) -> Self:
        return self.step("long_line", size=size)

    def half_line(self, text: str, *, seconds: float = 0.0, until: Path | None = None) -> Self:
        """Half of a message, then a pause or a file to wait for, then the rest."""
        return self.step("half_line", text=text, seconds=seconds, **({"until": str(until)} if until else {}))

    def raw(self, data: bytes) -> Self:
        """Bytes as they are: no JSON, no UTF-8, no line end, whatever is to be tried."""
        return self.step("raw", base64=base64.b64encode(data).decode())

    def errors(self, text: str) -> Self:
        return self.step("errors", text=text)

    # What is done.

    def tool(self, name: str, *, ok: bool = True, result: str = "", **arguments: Any) -> Self:
        return self.step("tool", name=name, arguments=arguments, ok=ok, result=result)

    def write(self, path: str | Path, text: str, *, ok: bool = True, told: bool = True) -> Self:
        return self.step("write", path=str(path), text=text, ok=ok, told=told)

    def edit(self, path: str | Path, old: str, new: str, *, ok: bool = True, told: bool = True) -> Self:
        return self.step("edit", path=str(path), old=old, new=new, ok=ok, told=told)

    def shell(self, command: str, *, own_session: bool = False) -> Self:
        return self.step("shell", command=command, own_session=own_session)

    def mcp(self, tool: str, /, *, seconds: float = 10.0, **arguments: Any) -> Self:
        """Tried again for so long while nobody answers."""
        return self.step("mcp", tool=tool, arguments=arguments, seconds=seconds)

    def report_result(
        self, status: str = "success", summary: str = "Done.", *, seconds: float = 10.0, **more: Any
    ) -> Self:
        """On its own run, by the id that stands in the prompt."""
        return self.mcp("report_result", seconds=seconds, agentId=OWN_RUN, status=status, summary=summary, **more)

    def use(self, input: int, output: int, cost: float | None = None) -> Self:  # noqa: A002 - the word of the stream
        return self.step("use", input=input, output=output, **({} if cost is None else {"cost": cost}))

    def note(self, text: str) -> Self:
        return self.step("note", text=text)

    # Time and processes.

    def sleep(self, seconds: float) -> Self:
        return self.step("sleep", seconds=seconds)

    def wait(self, path: Path, seconds: float | None = None) -> Self:
        """A gate: it stands until the file is there."""
        return self.step("wait", path=str(path), **({} if seconds is None else {"seconds": seconds}))

    def touch(self, path: Path, text: str = "") -> Self:
        """A sign to the test that the script has come this far."""
        return self.step("touch", path=str(path), text=text)

    def child(self, seconds: float = 60.0, *, ignore_term: bool = False, holds_output: bool = False) -> Self:
        return self.step("child", seconds=seconds, ignore_term=ignore_term, holds_output=holds_output)

    def daemon(
        self,
        seconds: float = 60.0,
        *,
        environment: Literal["keep", "clear"] = "keep",
        ignore_term: bool = False,
        holds_output: bool = False,
    ) -> Self:
        about = {"ignore_term": ignore_term, "holds_output": holds_output}
        return self.step("daemon", seconds=seconds, environment=environment, **about)

    def ignore_term(self, *signals: str) -> Self:
        return self.step("ignore_term", signals=list(signals) or ["TERM"])

    def trap_term(self, seconds: float = 0.0, code: int = 143) -> Self:
        return self.step("trap_term", seconds=seconds, exit=code)

    # The end.

    def rate_limit(self, message: str = "slow down", *, resets_in: float | None = None) -> Self:
        return self.step("fail", kind="rate_limit", message=message, resets_in=resets_in)

    def auth_failure(self, message: str = "invalid key") -> Self:
        return self.step("fail", kind="auth", message=message)

    def failure(self, message: str = "broken") -> Self:
        return self.step("fail", kind="error", message=message)

    def hang(self) -> Self:
        return self.step("hang")

    def exit(self, code: int = 0) -> Self:
        """At once, without the terminal event."""
        return self.step("exit", code=code)

    def die(self, signal: str = "KILL") -> Self:
        return self.step("die", signal=signal)

    def silent(self, code: int = 0) -> Self:
        """Everything is played, and the terminal event never comes."""
        self.about.update(end="silent", exit=code)
        return self

    def ends(self, code: int) -> Self:
        """The terminal event of success, and this exit code."""
        self.about["exit"] = code
        return self

    # What it becomes.

    def step(self, do: str, **about: Any) -> Self:
        self.steps.append({"do": do, **about})
        return self

    def document(self) -> dict[str, Any]:
        return {**self.about, "steps": self.steps}

    def prompt(self, words: str = "Do what the script says.") -> str:
        """A prompt with the script in it."""
        return f"{words} {MARK}{json.dumps(self.document())}{MARK_END}"

    def written(self, path: Path, words: str = "Do what the script says.") -> str:
        """A prompt that names the file in which the script now stands."""
        path.write_text(json.dumps(self.document()), "utf-8")
        return f"{words} {MARK}{path}{MARK_END}"


def command(client: str, *, script: Path | None = None, log: Path | None = None) -> list[str]:
    """The quickest way to start the agent; what the real CLI would get comes after it.

    `script` is played where the prompt has none, and `log` is for scripts that name none.
    """
    own = [*(["--script", str(script)] if script else []), *(["--log", str(log)] if log else [])]
    return [sys.executable, "-I", "-S", str(PROGRAM), "--as", client, *own, "--"]


def install(folder: Path, client: str, *, script: Path | None = None, log: Path | None = None) -> Path:
    """A program in this folder that has the CLI's own name, for a PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / PROGRAMS[client]
    words = shlex.join(command(client, script=script, log=log))
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n', "utf-8")
    program.chmod(0o755)
    return program


def records(log: Path, event: str | None = None, name: str | None = None) -> list[dict[str, Any]]:
    """What the agents of a log have written so far: `len(records(log, "start"))` is how many were started."""
    if not log.exists():
        return []
    # What comes after the last line end is still being written.
    *whole, _ = log.read_bytes().split(b"\n")
    found = [json.loads(line) for line in whole]
    return [
        record for record in found if event in (None, record["event"]) and name in (None, record["name"])
    ]  # fmt: skip


def is_alive(record: dict[str, Any]) -> bool:
    """Whether the process of a record still runs: that very one, and no zombie."""
    try:
        stat = Path(f"/proc/{record['pid']}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    state, *rest = stat[stat.rindex(")") + 2 :].split()
    return state not in "ZX" and int(rest[18]) == record["ticks"]


def kill_leftovers(log: Path) -> list[int]:
    """Ends what the agents of a log have left behind, for the end of a test."""
    killed: list[int] = []
    for record in records(log):
        if record["event"] in ("start", "child", "daemon") and is_alive(record):
            os.kill(record["pid"], 9)
            killed.append(record["pid"])
    return killed
