"""A run that is being followed: its process, its capture, and what its stream has shown."""

from __future__ import annotations

import contextlib
import os
import signal
from datetime import datetime
from typing import Any

from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Observation, Usage
from kumihimo.domain.session import Process
from kumihimo.engine.agents.client import Client, Ending, Verdict
from kumihimo.engine.agents.observer import Observer
from kumihimo.engine.processes import identity
from kumihimo.engine.processes.capture import Capture, tail
from kumihimo.engine.processes.nursery import Shell
from kumihimo.engine.processes.wrapper import Ended, RunFolder


class WatchedRun:
    def __init__(
        self,
        execution: Execution,
        client: Client,
        folder: RunFolder,
        secrets: tuple[bytes, ...],
        before: Usage,
        shell: Shell | None = None,
    ) -> None:
        self.execution = execution
        self.client = client
        self.folder = folder
        # Becomes readable when the wrapper ends. One that was taken over is looked for by `watch`.
        self.pidfd: int | None = shell.pidfd if shell else None
        self._secrets = secrets
        self._capture = Capture(folder.out, secrets)
        self._observer = Observer(execution.id, client.reader(before))
        self._saved = 0
        # When its shell was told to start it, where that was done here.
        self.began: datetime | None = None
        # Until then it can't have been silent for too long, by the clock on the wall.
        self.heard_until = 0.0
        # Once it is being stopped: since when, by the clock that never jumps, and what was found of it.
        self.stopping_since: float | None = None
        # It is to end at once, without the time to do so by itself.
        self.at_once = False
        self.killed = False
        self.known: list[Process] = []

    @property
    def id(self) -> str:
        return self.execution.id

    def follow(self, *, final: bool = False) -> bool:
        """Read what is new. True where there was something."""
        if not final and not self._capture.grown():
            return False
        before = self._capture.position
        while lines := self._capture.read(final=final):
            self._observer.observe(lines)
        return self._capture.position != before

    @property
    def can_be_read(self) -> bool:
        """Whether it is on the board where it prints: before that no line of it counts, for nobody could read it."""
        return self.execution.log_path is not None

    @property
    def beginning(self) -> dict[str, Any]:
        """What is to be written down of its start."""
        return {"log_path": str(self.folder.out), "began": self.began}

    @property
    def observation(self) -> Observation:
        return self._observer.observation(self._capture.position)

    @property
    def unsaved(self) -> bool:
        """Whether more was read than is written down."""
        return self._capture.position != self._saved

    def note_saved(self) -> None:
        """The observation, as it is now, was written down."""
        self._saved = self._capture.position

    def watch(self) -> int | None:
        """A descriptor that becomes readable when the wrapper ends; None where it has ended already."""
        if self.pidfd is None:
            wrapper = self.folder.wrapper()
            if wrapper is None:
                return None
            try:
                self.pidfd = os.pidfd_open(wrapper.pid)
            except ProcessLookupError:
                return None
            # Held now: whether it is the one that was meant can't change any more.
            if self.folder.is_over():
                self.unwatch()
        return self.pidfd

    def unwatch(self) -> None:
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None

    def wrapper(self) -> Process | None:
        """The process of the wrapper, while it lives."""
        found = self.folder.wrapper()
        return None if found is None or identity.proven_dead(found) else found

    @property
    def unborn(self) -> bool:
        """Whether its shell has been told to start the agent and has not come to it."""
        return self.pidfd is not None and self.folder.wrapper() is None

    def kill_shell(self) -> None:
        """For a shell that does not come to it."""
        if self.pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def judge(self, ended: Ended, errors: str) -> Verdict:
        ending = Ending(exit_code=ended.code) if ended.signal is None else Ending(signal=ended.code - 128)
        return self.client.judge(self._observer.conclusion, ending, errors)

    def errors(self) -> str:
        """The end of what it wrote to stderr; secrets are struck out of all of it."""
        with contextlib.suppress(FileNotFoundError):
            return tail(self.folder.err, self._secrets)
        return ""

    def silent_since(self) -> float:
        """When something was last written, by the clock on the wall: it says the same to whoever takes over."""
        return max(self.folder.out.stat().st_mtime, self.folder.err.stat().st_mtime)

    def close(self) -> None:
        self.unwatch()
        self._capture.close()
