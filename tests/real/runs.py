"""Runs of a real CLI by the command line that the product makes for it, without the product around it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kumihimo.engine.agents.client import TOKEN_VARIABLE, Client, Door, Ending, Order, Start, Verdict
from kumihimo.engine.agents.happenings import Failed, FileChanged, Finished, Happening, Said, SessionOpened, ToolCalled
from kumihimo.engine.agents.registry import find
from tests.real.board import TOKEN
from tests.real.clis import Cli, Settings

SECONDS = 120.0
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "TERM")
_MARK = "KUMI_TEST_MARK"


@dataclass
class Run:
    """A run under way; `happenings` grows as its stream is read."""

    client: Client
    process: subprocess.Popen[bytes]
    mark: str
    happenings: list[Happening] = field(default_factory=list[Happening])
    errors: str = ""
    reading: list[threading.Thread] = field(default_factory=list[threading.Thread])

    def wait(self) -> Verdict:
        """To its end, and what the product would say of it."""
        code = self.process.wait(SECONDS)
        for thread in self.reading:
            thread.join(SECONDS)
        ends = [happening for happening in self.happenings if isinstance(happening, Finished | Failed)]
        ending = Ending(exit_code=code) if code >= 0 else Ending(signal=-code)
        return self.client.judge(ends[-1] if ends else None, ending, self.errors)

    def stop(self) -> None:
        """The whole group, and what has a session of its own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        # A process that is being killed may have started another in between, and one that was killed takes a moment to go.
        until(lambda: not self._kill_what_is_left())
        self.wait()

    def _kill_what_is_left(self) -> list[int]:
        left = self.processes()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return left

    def processes(self) -> list[int]:
        """Every process that has our mark in its environment."""
        wanted = f"{_MARK}={self.mark}".encode()
        found: list[int] = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    @property
    def words(self) -> str:
        return "".join(happening.text for happening in self.happenings if isinstance(happening, Said))

    @property
    def session(self) -> str:
        return next(happening.session for happening in self.happenings if isinstance(happening, SessionOpened))

    @property
    def tools(self) -> list[str]:
        return [happening.tool for happening in self.happenings if isinstance(happening, ToolCalled)]

    @property
    def changed(self) -> dict[str, bool]:
        """Files by path, and whether they are new."""
        return {Path(h.path).name: h.created for h in self.happenings if isinstance(h, FileChanged)}


class Workshop:
    """A folder to work in, a home, and one CLI."""

    def __init__(self, cli: Cli, settings: Settings, folder: Path) -> None:
        self.cli = cli
        self.settings = settings
        self.folder = folder / "project"
        self.folder.mkdir()
        self._home = folder / "home"
        self._private = folder / "private"
        self._count = 0
        self.runs: list[Run] = []

    def begin(self, prompt: str, *, door: str | None = None, resume: str | None = None) -> Run:
        self._count += 1
        client = find(self.cli.name)
        order = Order(
            prompt=prompt, working_directory=self.folder, private_folder=self._private / str(self._count),
            model=self.settings.model, resume=resume, door=Door(door) if door else None, home=self._home,
        )  # fmt: skip
        start = client.start(order)
        _lay_out(start)
        mark = uuid.uuid4().hex
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        # What the user's settings say comes last: it wins.
        environment = {**kept, **start.environment, **self.settings.env, TOKEN_VARIABLE: TOKEN, _MARK: mark}
        process = subprocess.Popen(
            [*self.settings.command, *start.argv, *self.settings.args], cwd=self.folder, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        run = Run(client, process, mark)
        self.runs.append(run)
        for work in (_follow, _keep_errors):
            run.reading.append(threading.Thread(target=work, args=(run,), daemon=True))
            run.reading[-1].start()
        assert process.stdin is not None
        process.stdin.write(start.stdin.encode())
        process.stdin.close()
        return run

    def run(self, prompt: str, *, door: str | None = None, resume: str | None = None) -> tuple[Run, Verdict]:
        run = self.begin(prompt, door=door, resume=resume)
        return run, run.wait()

    def close(self) -> None:
        for run in self.runs:
            run.stop()


def _lay_out(start: Start) -> None:
    """The files and links that a run needs."""
    for path, target in start.links.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            target.mkdir(parents=True)
        path.symlink_to(target)
    for path, text in start.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def _follow(run: Run) -> None:
    reader = run.client.reader()
    assert run.process.stdout is not None
    with run.process.stdout as lines:
        for line in lines:
            run.happenings.extend(reader.read(line))


def _keep_errors(run: Run) -> None:
    assert run.process.stderr is not None
    with run.process.stderr as errors:
        run.errors = errors.read().decode("utf-8", "replace")


def until(true: Callable[[], object]) -> None:
    """Waits for what another process does, and says so when it never comes."""
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
