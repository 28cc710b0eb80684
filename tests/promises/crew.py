"""Child processes of a test: each has a bound, and each is killed by its own pid when the test is over."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# Generous: a bound keeps a broken test from hanging and says nothing about speed.
BOUND_SECONDS = 120.0
Job = dict[str, Any]


class Child:
    """One process that speaks JSON, one line each: `ready`, then an answer to every job."""

    def __init__(self, script: str = "workers.py", *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, job: Job) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()

    def answer(self, seconds: float = BOUND_SECONDS) -> Any:
        """The next line, which must come within the bound."""
        line = self._lines.get(timeout=seconds)
        assert line is not None, f"the child ended with {self._process.wait(5)}"
        return json.loads(line)

    def answered(self) -> bool:
        return not self._lines.empty()

    def kill(self) -> list[Any]:
        """`kill -9`, now. Answers every whole line that it had printed and nobody had read."""
        self._process.send_signal(signal.SIGKILL)
        return self.remains()

    def remains(self, seconds: float = BOUND_SECONDS) -> list[Any]:
        """Wait for the end of the process, and answer what it had still printed."""
        self._process.wait(seconds)
        self._reader.join(seconds)
        rest: list[Any] = []
        while (line := self._lines.get_nowait()) is not None:
            if line.endswith("\n"):
                rest.append(json.loads(line))
        self.close()
        return rest

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def close(self) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait(BOUND_SECONDS)
        self._reader.join(BOUND_SECONDS)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                # What was still to be sent to a killed child has nobody to go to.
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)


class Crew:
    """Several children that are given their jobs at the same moment."""

    def __init__(self, size: int) -> None:
        self.children = [Child() for _ in range(size)]
        for child in self.children:
            assert child.answer() == "ready"

    def open(self, database: str) -> None:
        self.together([{"verb": "open", "database": database, "actor": f"w{n}"} for n in range(len(self.children))])

    def together(self, jobs: Sequence[Job]) -> list[Any]:
        """One job for each of the first children, at once; their answers in the same order."""
        self.begin(jobs)
        return self.finish(len(jobs))

    def begin(self, jobs: Sequence[Job]) -> None:
        for child, job in zip(self.children, jobs, strict=False):
            child.send(job)

    def finish(self, count: int) -> list[Any]:
        # Everybody is heard before anything is judged: an answer left behind would be taken for the next one.
        answers = [child.answer() for child in self.children[:count]]
        return [_checked(answer) for answer in answers]

    def close(self) -> None:
        for child in self.children:
            child.close()


def _checked(answer: Any) -> Any:
    assert not isinstance(answer, dict) or "crash" not in answer, answer["crash"]
    return answer


def refusals(answers: Sequence[Any]) -> list[str]:
    """The codes of the answers that are refusals."""
    return sorted(answer["refused"] for answer in answers if isinstance(answer, dict) and "refused" in answer)


def kept(answers: Sequence[Any]) -> list[Any]:
    """The answers that are none."""
    return [answer for answer in answers if not (isinstance(answer, dict) and "refused" in answer)]
