"""A run that is being followed: its process, its capture, and what its stream has shown."""

from __future__ import annotations

import contextlib
import os
import subprocess

from kumihimo.domain.execution import Execution
from kumihimo.domain.observation import Observation, Usage
from kumihimo.domain.session import Process
from kumihimo.engine.agents.client import Client, Ending, Verdict
from kumihimo.engine.agents.observer import Observer
from kumihimo.engine.processes import identity
from kumihimo.engine.processes.capture import Capture, tail
from kumihimo.engine.processes.wrapper import Ended, RunFolder


class WatchedRun:
    def __init__(
        self,
        execution: Execution,
        client: Client,
        folder: RunFolder,
        secrets: tuple[bytes, ...],
        before: Usage,
        child: subprocess.Popen[bytes] | None = None,
    ) -> None:
        self.execution = execution
        self.client = client
        self.folder = folder
        # A shell that we started ourselves and must reap; None for one that was taken over.
        self.child = child
        self.pidfd: int | None = None
        self._secrets = secrets
        self._capture = Capture(folder.out, secrets)
        self._observer = Observer(execution.id, client.reader(before))
        self._saved = 0
        # Once it is being stopped: since when, by the clock that never jumps, and what was found of it.
        self.stopping_since: float | None = None
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
    def observation(self) -> Observation:
        return self._observer.observation(self._capture.position)

    def watch(self) -> int | None:
        """A descriptor that becomes readable when the wrapper ends; None where it has ended already."""
        pid = self.child.pid if self.child else getattr(self.folder.wrapper(), "pid", None)
        if pid is None:
            return None
        try:
            self.pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            return None
        # Held now: whether it is the one that was meant can't change any more.
        if self.child is None and self.folder.is_over():
            self.unwatch()
        return self.pidfd

    def unwatch(self) -> None:
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None

    def reap(self) -> None:
        """The wrapper has ended: nothing of it is to stay behind as a zombie of ours."""
        self.unwatch()
        if self.child is not None:
            self.child.wait()
            self.child = None

    def wrapper(self) -> Process | None:
        """The process of the wrapper, while it lives."""
        found = self.folder.wrapper()
        return None if found is None or identity.proven_dead(found) else found

    def judge(self, ended: Ended) -> Verdict:
        ending = Ending(exit_code=ended.code) if ended.signal is None else Ending(signal=ended.code - 128)
        return self.client.judge(self._observer.conclusion, ending, self.errors())

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
