"""A session that somebody starts in a shell: the agent at their terminal, or by itself where everything is approved.

The agent runs under a small shell that writes down how it ended, as every run does: where this process is killed, the
supervisor of the home still learns of it.
"""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from kumihimo import settings as configuration
from kumihimo.domain.session import Process
from kumihimo.domain.token import Token
from kumihimo.engine.agents.client import TOKEN_VARIABLE, Door, Ending, Start, Verdict
from kumihimo.engine.agents.happenings import Happening, Said, ToolCalled
from kumihimo.engine.agents.observer import Observer
from kumihimo.engine.agents.starting import SpawnFailed, client_named, lay_out, program_of
from kumihimo.engine.processes import identity, tree
from kumihimo.engine.processes.capture import strike_out
from kumihimo.engine.processes.secrets import secrets_in
from kumihimo.engine.processes.wrapper import HUB_MARKER, MARKER, Ended, RunFolder
from kumihimo.services.board import Board
from kumihimo.services.definitions import defined
from kumihimo.services.projects import Place
from kumihimo.services.tasks import Reference
from kumihimo.services.verifying import Verification, folder_of
from kumihimo.services.workers import Worker
from kumihimo.settings import Settings
from kumihimo.supervisor.launcher import WorkingPlace, order_of
from kumihimo.supervisor.prompt import compose

CANNOT_START = 126
# In the folder of the run: who is at its side.
ATTENDANT = "attendant"
_PATIENCE_SECONDS = 5.0
# How often we look whether somebody wants it to end.
_LOOK_SECONDS = 0.5
_CHUNK = 1 << 16
_SCRIPT = '"$@"; code=$?; umask 077; echo "$code" > {exit}; exit "$code"'


class AttendedRun:
    """`url` is where the agent reaches our MCP, `host_id` the home that it belongs to."""

    def __init__(self, settings: Settings, board: Board, host_id: str, url: str) -> None:
        self._settings = settings
        self._board = board
        self._host_id = host_id
        self._url = url

    def run(self, place: Place, reference: Reference) -> int:
        """Until the agent has ended; the answer is its exit code."""
        worker = self._board.workers.begin(place, reference, self._host_id)
        settings = self._settings_at(Path(worker.execution.working_directory or ""))
        try:
            ended, verdict = _Session(settings, self._board, worker, self._url).follow()
        except SpawnFailed as error:
            sys.stderr.write(f"{error}\n")
            ended, verdict = Ended(CANNOT_START), Verdict("spawn_failed", str(error))
        self._end(settings, worker, ended, verdict)
        return ended.code

    def _end(self, settings: Settings, worker: Worker, ended: Ended, verdict: Verdict | None) -> None:
        run = worker.execution
        error = (verdict.message or verdict.reason) if verdict is not None and verdict.reason else None
        close(self._board, run.id, ended, error)
        verification = Verification(self._board, settings)
        verification.verify(self._board.executions.show(run.id))

    def _settings_at(self, folder: Path) -> Settings:
        return configuration.load(configuration.Flags(db=self._settings.database), os.environ, folder)


def close(board: Board, run_id: str, ended: Ended, error: str | None) -> None:
    """Write down how a session ended. One that somebody stopped was stopped, however its agent took it."""
    run = board.executions.show(run_id)
    if not run.live:
        # Somebody has told its end already, and that stays.
        return
    if run.stopping is not None:
        board.executions.cancel(run.id, run.fence, exit_code=ended.code, signal=ended.signal, error=error)
    else:
        board.work_sessions.end(Place(run.project_id), run.id, ended.code, signal=ended.signal, error=error)


class _Session:
    def __init__(self, settings: Settings, board: Board, worker: Worker, url: str) -> None:
        self._board = board
        self._run = run = worker.execution
        self._folder = RunFolder(folder_of(settings, run.id))
        self._client = client_named(run.client)
        own = settings.clients.get(run.client, configuration.Client())
        agent = defined(worker.agent, settings)
        order = order_of(
            run,
            agent,
            self._folder,
            WorkingPlace.at(Path(run.working_directory or ""), settings),
            own,
            Door(url + settings.door_path(Path(board.projects.show(run.project_id or "").working_directory))),
            compose(run, (), board.memories.decisions(run.project_id)),
        )
        start = self._client.start_approved(order) if run.auto else self._client.attend(order)
        token = board.tokens.issue(Token("run", run.agent_id, run.project_id, run.id))
        environment = {**os.environ, **start.environment, **own.env, MARKER: run.id, TOKEN_VARIABLE: token}
        environment.pop(HUB_MARKER, None)
        environment["PWD"] = str(order.working_directory)
        self._secrets = secrets_in(environment)
        self._observer = Observer(run.id, self._client.reader())
        self._shown = self._client.reader()
        self._rest = b""
        try:
            lay_out(self._folder, start)
            self._folder.write(self._folder.path / ATTENDANT, msgspec.json.encode(identity.current()).decode())
            argv = [*program_of(self._client, own), *start.argv, *own.args]
            self._process = self._spawn(argv, environment, order.working_directory, start)
        except (OSError, ValueError) as error:
            raise SpawnFailed(str(error)) from error
        self._wrapper = self._note_wrapper()

    def _spawn(
        self, argv: list[str], environment: dict[str, str], folder: Path, start: Start
    ) -> subprocess.Popen[bytes]:
        script = _SCRIPT.format(exit=shlex.quote(str(self._folder.path / "exit")))
        with ExitStack() as opened:
            # Its prompt is in a file where it takes none as an argument; else the terminal is the agent's.
            read = opened.enter_context((self._folder.path / "in").open("rb")) if start.stdin else None
            return subprocess.Popen(
                ["/bin/sh", "-c", script, "sh", *argv],
                cwd=folder,
                env=environment,
                stdin=read,
                stdout=subprocess.PIPE if self._run.auto else None,
            )

    def _note_wrapper(self) -> Process | None:
        found = identity.of(self._process.pid)
        if found is not None:
            self._folder.note_wrapper(found)
        return found

    def follow(self) -> tuple[Ended, Verdict | None]:
        """To its end. What a terminal sends goes to the agent as well; it decides what becomes of it."""
        with self._signals_passed_on(), self._folder.out.open("ab") as log:
            os.fchmod(log.fileno(), 0o600)
            self._watch(log)
        code = self._process.wait()
        ended = self._folder.ended() or Ended(code if code >= 0 else 128 - code)
        tree.send(tree.of_run(self._run.id, None), signal.SIGKILL)
        return ended, self._verdict(ended) if self._run.auto else None

    def _watch(self, log: BinaryIO) -> None:
        poll = select.poll()
        pidfd = os.pidfd_open(self._process.pid)
        poll.register(pidfd, select.POLLIN)
        stream = self._process.stdout
        if stream is not None:
            os.set_blocking(stream.fileno(), False)
            poll.register(stream.fileno(), select.POLLIN)
        told_at: float | None = None
        try:
            while True:
                ready = {descriptor for descriptor, _ in poll.poll(_LOOK_SECONDS * 1000)}
                if stream is not None and stream.fileno() in ready and not self._read(stream.fileno(), log):
                    poll.unregister(stream.fileno())
                    stream = None
                if pidfd in ready:
                    break
                told_at = self._end_where_wanted(told_at)
            if stream is not None:
                self._read(stream.fileno(), log)
        finally:
            os.close(pidfd)

    def _read(self, descriptor: int, log: BinaryIO) -> bool:
        """Take in what there is; False at the end of it."""
        more = True
        while True:
            try:
                chunk = os.read(descriptor, _CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                more = False
                break
            self._rest += chunk
        *lines, self._rest = self._rest.split(b"\n")
        if not more and self._rest:
            lines, self._rest = [*lines, self._rest], b""
        if lines:
            clean = [strike_out(line, self._secrets) for line in lines]
            log.write(b"\n".join(clean) + b"\n")
            log.flush()
            self._observer.observe(clean)
            self._board.executions.observe([self._observer.observation(log.tell())])
            for line in clean:
                for happening in self._shown.read(line):
                    _show(happening)
        return more

    def _end_where_wanted(self, told_at: float | None) -> float | None:
        """Somebody may ask for its end, from anywhere. When it was told so, it has some seconds."""
        now = time.monotonic()
        if told_at is None:
            stopping = self._board.executions.show(self._run.id).stopping
            if stopping is None:
                return None
            tree.send(self._processes(), signal.SIGKILL if stopping == "killed" else signal.SIGTERM)
            return now
        if now - told_at > _PATIENCE_SECONDS:
            tree.send(self._processes(), signal.SIGKILL)
        return told_at

    def _processes(self) -> list[Process]:
        """The agent and everything it has started; its shell lives to say how it ended."""
        return [process for process in tree.of_run(self._run.id, self._wrapper) if process != self._wrapper]

    def _verdict(self, ended: Ended) -> Verdict:
        ending = Ending(exit_code=ended.code) if ended.signal is None else Ending(signal=ended.code - 128)
        return self._client.judge(self._observer.conclusion, ending, "")

    @contextmanager
    def _signals_passed_on(self) -> Generator[None]:
        def pass_on(number: int, _: object) -> None:
            tree.send(self._processes(), signal.Signals(number))

        kept = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGHUP)}
        # The agent is in the foreground with us, and gets it by itself.
        kept[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            yield
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)


def _show(happening: Happening) -> None:
    if isinstance(happening, Said):
        sys.stdout.write(f"{happening.text}\n")
    elif isinstance(happening, ToolCalled):
        sys.stdout.write(f"[{happening.tool}]\n")
    sys.stdout.flush()
