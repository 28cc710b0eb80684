"""Whether an agent CLI can be used: is it there, which version, does it know the model, does it answer.

Everything here blocks and may take as long as its limit says: it belongs on a thread.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Literal

from msgspec import Struct

from kumihimo.domain.execution import FailureReason
from kumihimo.engine.agents import lines, registry
from kumihimo.engine.agents.client import Client, Ending, Order, Start, Verdict
from kumihimo.engine.agents.happenings import Failed, Finished
from kumihimo.settings import Client as Override
from kumihimo.settings import Settings

PromptStatus = Literal["passed", "failed", "skipped"]
ModelStatus = Literal["valid", "invalid", "unknown"]

PROMPT = "Answer with the single word OK. Use no tools."
_VERSION_SECONDS = 10.0
_MODELS_SECONDS = 30.0
_LONGEST = 500


class PromptCheck(Struct, frozen=True):
    """What came of one prompt. `message` is for a person."""

    status: PromptStatus
    reason: FailureReason | None = None
    message: str | None = None
    response_time_ms: int | None = None


class _Ran(Struct, frozen=True):
    output: bytes
    errors: str
    ending: Ending
    in_time: bool


def find_program(client: Client, override: Override) -> str | None:
    """Where it is: the settings' word for it, else the first of its names that is on PATH."""
    for name in override.command[:1] if override.command else client.programs:
        if found := shutil.which(str(Path(name).expanduser())):
            return found
    return None


def found_clients(settings: Settings) -> tuple[str, ...]:
    """The agent CLIs that this machine has, by the names that we have for them."""
    own = settings.clients
    return tuple(
        name for name in registry.NAMES if find_program(registry.find(name), own.get(name, Override())) is not None
    )


def why_missing(client: Client, override: Override) -> str:
    """What to do where `find_program` finds nothing."""
    if override.command:
        return f"{override.command[0]} is not there, or can't be run: see [clients.{client.name}] in the settings"
    words = " or ".join(client.programs) or client.name
    return f"{words} is not on PATH: install it, or set [clients.{client.name}] command"


def version(client: Client, override: Override, seconds: float = _VERSION_SECONDS) -> str | None:
    """Its version, as it prints it; None where it prints none in time."""
    ran = _ask(client, override, ("--version",), seconds)
    if ran is None or ran.ending.exit_code != 0:
        return None
    printed = lines.plain(ran.output)
    found = re.search(r"\d+(?:\.\d+)+[\w.+-]*", printed)
    return found[0].rstrip(".")[:_LONGEST] if found else next(iter(printed.split()), None)


def models(client: Client, override: Override, model: str | None) -> ModelStatus:
    """Whether it knows this model, where it can list those that it knows. A list that is empty or can't be had tells
    nothing."""
    if model is None or client.models_arguments is None:
        return "unknown"
    ran = _ask(client, override, client.models_arguments, _MODELS_SECONDS)
    if ran is None or ran.ending.exit_code != 0:
        return "unknown"
    listed = {words[0] for line in ran.output.decode("utf-8", "replace").splitlines() if (words := line.split())}
    if not listed:
        return "unknown"
    return "valid" if model in listed else "invalid"


def prompt_check(
    client: Client, override: Override, prompt: str = PROMPT, model: str | None = None, seconds: float = 60.0
) -> PromptCheck:
    """One turn in an empty folder, started, read and judged as every run is."""
    command = _command(client, override)
    if command is None:
        return PromptCheck("failed", "spawn_failed", "the program is not there")
    with tempfile.TemporaryDirectory(prefix="kumi-check-", ignore_cleanup_errors=True) as folder:
        work, private = Path(folder) / "work", Path(folder) / "private"
        for made in (work, private):
            made.mkdir(mode=0o700)
        start = client.start(Order(prompt, work, private, model=model, home=Path.home()))
        argv = [*command, *start.argv, *override.args]
        environment = {**os.environ, **start.environment, **override.env}
        began = time.monotonic()
        try:
            _lay_out(start)
            ran = _run(argv, environment, work, start.stdin, seconds)
        except (OSError, ValueError) as error:
            return PromptCheck("failed", "spawn_failed", str(error)[:_LONGEST])
        took = round((time.monotonic() - began) * 1000)
    if not ran.in_time:
        return PromptCheck("failed", "timed_out", f"no end within {seconds:g} s", took)
    verdict = _judged(client, ran)
    if verdict.reason is None:
        return PromptCheck("passed", response_time_ms=took)
    return PromptCheck("failed", verdict.reason, (verdict.message or "")[:_LONGEST] or None, took)


def _judged(client: Client, ran: _Ran) -> Verdict:
    reader, seen = client.reader(), None
    for line in ran.output.splitlines():
        for happening in reader.read(line):
            if isinstance(happening, Finished | Failed):
                seen = happening
    return client.judge(seen, ran.ending, ran.errors)


def _command(client: Client, override: Override) -> list[str] | None:
    program = find_program(client, override)
    return None if program is None else [program, *(override.command[1:] if override.command else [])]


def _ask(client: Client, override: Override, arguments: tuple[str, ...], seconds: float) -> _Ran | None:
    """A question that needs no model. None where there was no answer in time."""
    command = _command(client, override)
    if command is None:
        return None
    try:
        ran = _run([*command, *arguments], {**os.environ, **override.env}, Path.cwd(), "", seconds)
    except (OSError, ValueError):
        return None
    return ran if ran.in_time else None


def _lay_out(start: Start) -> None:
    for path, content in start.files.items():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(content)
    for path, target in start.links.items():
        if not target.exists():
            target.mkdir(parents=True, mode=0o700)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.symlink_to(target)


def _run(argv: list[str], environment: dict[str, str], folder: Path, stdin: str, seconds: float) -> _Ran:
    """Run it to its end, or kill it with everything in its group when the time is over."""
    process = subprocess.Popen(
        argv,
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    in_time = True
    try:
        output, errors = process.communicate(stdin.encode("utf-8", "replace"), timeout=seconds)
    except subprocess.TimeoutExpired:
        in_time = False
        output, errors = _killed(process)
    code = process.returncode
    ending = Ending(code) if code >= 0 else Ending(None, -code)
    return _Ran(output, lines.plain(errors), ending, in_time)


def _killed(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """A grandchild in a session of its own may keep the pipes open: they are left to it after a moment."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()
    try:
        return process.communicate(timeout=2)
    except subprocess.TimeoutExpired:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()
        process.wait()
        return b"", b""
