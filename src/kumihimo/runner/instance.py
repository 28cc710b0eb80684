"""An instance: an agent that was started for a pair, followed by its wrapper until that has written down how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
from datetime import UTC, datetime

from msgspec import Struct

from kumihimo.domain.session import Process
from kumihimo.engine.agents.client import Client, Ending, Verdict
from kumihimo.engine.agents.observer import Observer
from kumihimo.engine.processes import identity
from kumihimo.engine.processes.capture import Capture, tail
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.runner.records import Record
from kumihimo.runner.report import Report

_LINES = 6
_LONGEST = 1_500


class End(Struct, frozen=True):
    """How it ended: the report of it, and what its stream says of why."""

    report: Report
    verdict: Verdict


class Instance:
    def __init__(
        self, record: Record, client: Client, folder: RunFolder, secrets: tuple[bytes, ...], pidfd: int | None = None
    ) -> None:
        """`pidfd` is of its shell, where we have started it; it is ours to close."""
        self.record = record
        self.folder = folder
        self._client = client
        self._secrets = secrets
        self._pidfd = pidfd
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if pidfd is None:
            pidfd = self._pidfd = self._find()
        if pidfd is None:
            self.over.set_result(None)
        else:
            asyncio.get_running_loop().add_reader(pidfd, self._ended)

    @property
    def id(self) -> str:
        return self.record.id

    def wrapper(self) -> Process | None:
        """The process of the wrapper, while it lives."""
        found = self.folder.wrapper()
        return None if found is None or identity.proven_dead(found) else found

    def silent_since(self) -> datetime | None:
        """When it last wrote something, by the clock on the wall; None where it has not come to that."""
        try:
            last = max(self.folder.out.stat().st_mtime, self.folder.err.stat().st_mtime)
        except FileNotFoundError:
            return None
        return datetime.fromtimestamp(last, UTC)

    async def end(self) -> End:
        """What came of it, once it is over. Secrets are struck out of everything that is kept."""
        observer = Observer(self.id, self._client.reader())
        capture = Capture(self.folder.out, self._secrets)
        try:
            while lines := capture.read(final=True):
                observer.observe(lines)
                # A flood of output holds nobody up.
                await asyncio.sleep(0)
        finally:
            capture.close()
        errors = self._errors()
        # The prompt holds the passkey.
        (self.folder.path / "in").unlink(missing_ok=True)
        ended = self.folder.ended()
        number = ended.code - 128 if ended and ended.signal else None
        ending = Ending(exit_code=None if number or ended is None else ended.code, signal=number)
        verdict = self._client.judge(observer.conclusion, ending, errors)
        said = observer.observation(capture.position).last_message or ""
        report = self.report_of_end(
            ending.exit_code, ended.signal if ended else None, _last_lines(said, errors, verdict)
        )
        return End(report, verdict)

    def report_of_end(self, exit_code: int | None, signal: str | None, last_lines: str | None) -> Report:
        record = self.record
        return Report(
            agent_id=record.agent_id,
            project_id=record.project_id,
            instance_id=record.id,
            state="exited",
            working_directory=record.directory,
            exit_code=exit_code,
            signal=signal,
            last_lines=last_lines,
        )

    def close(self) -> None:
        """Look away: it goes on without us."""
        if self._pidfd is not None:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _errors(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            return tail(self.folder.err, self._secrets)
        return ""

    def _find(self) -> int | None:
        """Hold the wrapper that somebody else has started; None where it is gone."""
        wrapper = self.folder.wrapper()
        if wrapper is None:
            return None
        try:
            held = os.pidfd_open(wrapper.pid)
        except ProcessLookupError:
            return None
        # Held now: whether it is the one that was meant can't change any more.
        if self.folder.is_over():
            os.close(held)
            return None
        return held

    def _ended(self) -> None:
        self.close()
        if not self.over.done():
            self.over.set_result(None)


def _last_lines(said: str, errors: str, verdict: Verdict) -> str | None:
    """What it said last, then what it complained of last, in a few lines for a person."""
    spoken = [line for line in said.splitlines() if line.strip()][-_LINES:]
    complained = [line for line in errors.splitlines() if line.strip()][-_LINES:]
    told = [*spoken, *complained]
    if verdict.message and not any(verdict.message in line for line in told):
        told.append(verdict.message)
    return "\n".join(told).replace("\0", " ")[-_LONGEST:] or None
