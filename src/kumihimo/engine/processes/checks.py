"""Checks: the commands of a definition of done, run one after the other, each with a time limit and without a trace.

A command runs under a keeper, in a session of its own, with nothing to read and without our tokens. When it is over, by
itself or not, every process that it has started is ended as well, also one that has left its parents. Every command is run,
also after one that failed: who mends something wants to know of everything that is to be mended.
"""

from __future__ import annotations

import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from kumihimo.domain.proof import CheckResult, CheckStatus
from kumihimo.domain.session import Process
from kumihimo.engine.processes import identity, tree
from kumihimo.engine.processes.capture import strike_out
from kumihimo.engine.processes.wrapper import MARKER, NURSERY, Ended

OUTPUT_BYTES = 4_096
# A secret on the border of what is kept must be seen whole by who strikes it out.
_WINDOW = 65_536
_KEEPER = Path(__file__).with_name("keeper.py")
# As many of these as a pipe can be made to hold.
_PIPE_CHUNKS = 16
# What the kernel takes as a time to wait has its limit.
_LONGEST_WAIT_SECONDS = 3_600.0
# So long the keeper of a command that leaves nothing behind may take to end, before anybody looks for leftovers.
_GLANCE_SECONDS = 0.2
# From being asked to end to being killed.
_PATIENCE_SECONDS = 2.0
# How long the kernel may take to end what was killed.
_LAST_SECONDS = 15.0
# How often somebody is asked whether to stop, who can only be asked.
_ASK_SECONDS = 0.1
# A check decides by what is in the folder. What git, or we, were told about another place would lead it astray.
_FOREIGN = re.compile(rf"GIT_.*|KUMI_.*(?:TOKEN|KEY|SECRET).*|KUMI_MCP_URL|{MARKER}|{NURSERY}")


def run_checks(
    commands: Sequence[str],
    folder: Path,
    *,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    stop: Callable[[], bool] | None = None,
    each: Callable[[CheckResult], None] | None = None,
    mask: Callable[[bytes], bytes] | None = None,
    budget: float | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> list[CheckResult]:
    """One result for each command, in their order; `each` hears of them as they come.

    `seconds` is the limit of each command, `budget` that of all together: what has had no turn by then is not run, and
    neither is anything after `stop` says so. `environment` is the whole one that they get, ours where there is none, in
    either case without tokens of ours and without what git was told. `mask` strikes secrets out of what is kept of their
    output; tokens of ours are always struck out.
    """
    runner = _Runner(folder, clean(os.environ if environment is None else environment), stop, mask, clock)
    end = None if budget is None else time.monotonic() + budget
    results: list[CheckResult] = []
    for command in commands:
        limit = seconds if end is None else min(seconds, end - time.monotonic())
        result = runner.run(command, limit) if limit > 0 else CheckResult(command, "not_run", output="no time was left")
        results.append(result)
        if each is not None:
            each(result)
    return results


def clean(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without our tokens and marks, and without what git was told."""
    return {name: value for name, value in environment.items() if not _FOREIGN.fullmatch(name)}


class _Runner:
    def __init__(
        self,
        folder: Path,
        environment: dict[str, str],
        stop: Callable[[], bool] | None,
        mask: Callable[[bytes], bytes] | None,
        clock: Callable[[], datetime],
    ) -> None:
        self._folder = folder
        self._environment = environment
        self._stop = stop
        self._mask = mask
        self._clock = clock

    def run(self, command: str, seconds: float) -> CheckResult:
        if self._stop is not None and self._stop():
            return CheckResult(command, "not_run", output="it was stopped")
        started_at, since = self._clock(), time.monotonic()
        try:
            kept = _Kept(command, self._folder, self._environment)
        except (OSError, ValueError) as error:
            return CheckResult(command, "not_run", output=str(error))
        try:
            cut_short = self._follow(kept, since + seconds)
        finally:
            kept.end()
        status, ended = _judge(cut_short, kept.exit)
        return CheckResult(
            command,
            status,
            exit_code=ended.code if ended else None,
            signal=ended.signal if ended else None,
            duration_ms=int((time.monotonic() - since) * 1000),
            output=self._presentable(kept.output),
            started_at=started_at,
        )

    def _follow(self, kept: _Kept, deadline: float) -> CheckStatus | None:
        """Until the command has ended, or is to end: then as what it counts."""
        ask_at = time.monotonic() + _ASK_SECONDS
        while not kept.over:
            now = time.monotonic()
            if now >= deadline:
                return "timed_out"
            if self._stop is not None and now >= ask_at:
                if self._stop():
                    return "not_run"
                ask_at = now + _ASK_SECONDS
            kept.wait(min(deadline, ask_at) - now if self._stop is not None else deadline - now)
        return None

    def _presentable(self, output: bytes) -> str:
        struck = strike_out(output if self._mask is None else self._mask(output), ())
        text = struck[-OUTPUT_BYTES:].decode("utf-8", "replace")
        # NUL is the one character that a database can't keep.
        return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _judge(cut_short: CheckStatus | None, exit_: int | None) -> tuple[CheckStatus, Ended | None]:
    if cut_short is not None:
        return cut_short, None
    if exit_ is None:
        # It has killed its keeper, and nobody saw how it ended.
        return "failed", None
    return ("passed" if exit_ == 0 else "failed"), Ended(exit_ if exit_ >= 0 else 128 - exit_)


class _Kept:
    """One command under its keeper."""

    def __init__(self, command: str, folder: Path, environment: dict[str, str]) -> None:
        self._mark = f"check-{uuid4().hex}"
        self.output = b""
        self.exit: int | None = None
        self.over = False
        self._left_alone = False
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pipe, writing = os.pipe()
        try:
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_KEEPER), command],
                stdin=theirs.fileno(),
                stdout=writing,
                stderr=writing,
                cwd=folder,
                env={**environment, MARKER: self._mark, "PWD": str(folder.absolute())},
                start_new_session=True,
            )
        except BaseException:
            self._line.close()
            os.close(self._pipe)
            raise
        finally:
            theirs.close()
            os.close(writing)
        os.set_blocking(self._pipe, False)
        self._process = identity.of(self._keeper.pid)
        # Not select(): that knows only the first 1,024 descriptors.
        self._poll = select.poll()
        self._poll.register(self._line, select.POLLIN)
        self._poll.register(self._pipe, select.POLLIN)

    def wait(self, seconds: float) -> None:
        """For something to happen, at most so long."""
        ready = {descriptor for descriptor, _ in self._poll.poll(min(max(0.0, seconds), _LONGEST_WAIT_SECONDS) * 1000)}
        if self._pipe in ready and self._read() == b"":
            self._poll.unregister(self._pipe)
        if self._line.fileno() in ready:
            self._hear()

    def _hear(self) -> None:
        """First how the command ended, then that its keeper did."""
        told = _receive(self._line)
        self.over = True
        if told:
            self.exit = int(told)
        else:
            self._left_alone = True
            self._poll.unregister(self._line)

    def _read(self) -> bytes | None:
        """What it has written since: None where there is nothing yet, nothing at the end of it."""
        try:
            chunk = os.read(self._pipe, _WINDOW)
        except BlockingIOError:
            return None
        self.output = (self.output + chunk)[-_WINDOW:]
        return chunk

    def end(self) -> None:
        """Everything of it that is still there: asked first, then killed."""
        try:
            if not (self.over and self._gone(_GLANCE_SECONDS)):
                tree.send(tree.of_run(self._mark, self._process), signal.SIGTERM)
                self._gone(_PATIENCE_SECONDS)
            self._line.close()
            self._bury()
            self._sweep()
            self._drain()
        finally:
            self._line.close()
            os.close(self._pipe)

    def _gone(self, seconds: float) -> bool:
        """Whether nothing of it is left: its keeper ends then. It is read from meanwhile, for what can't write can't end."""
        deadline = time.monotonic() + seconds
        while not self._left_alone and (left := deadline - time.monotonic()) > 0:
            self.wait(left)
        return self._left_alone

    def _bury(self) -> None:
        try:
            self._keeper.wait(_LAST_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()

    def _sweep(self) -> None:
        """What got away from the keeper, because somebody else took it in or the keeper was killed."""
        deadline = time.monotonic() + _LAST_SECONDS
        while (found := tree.of_run(self._mark, None)) and time.monotonic() < deadline:
            tree.send(found, signal.SIGKILL)
            _wait_for(found, deadline)

    def _drain(self) -> None:
        """What was written last. A pipe holds no more than this: who would not die and still writes is not waited for."""
        for _ in range(_PIPE_CHUNKS):
            if not self._read():
                return


def _receive(line: socket.socket) -> bytes:
    try:
        return line.recv(64)
    except ConnectionResetError:
        return b""


def _wait_for(processes: list[Process], deadline: float) -> None:
    """For the ends of these, at most until then."""
    for process in processes:
        try:
            held = os.pidfd_open(process.pid)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(held, select.POLLIN)
        if identity.of(process.pid) == process:
            poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        os.close(held)
