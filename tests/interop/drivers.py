"""A client library in a process of its own, told by lines of JSON what to do."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.interop.house import BOUND_SECONDS
from tests.interop.packages import CLIENT_2, SDK_1, installed

HERE = Path(__file__).resolve().parent
PYTHON = "python"
TYPESCRIPT_1 = "typescript 1"
TYPESCRIPT_2 = "typescript 2"


class Refused(Exception):
    """What the client raised."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']} {error['message']}")
        self.code: int | None = error["code"]
        self.message: str = error["message"]
        self.data: Any = error["data"]


class Driver:
    """A running driver; connections to any number of doors."""

    def __init__(self, library: str, log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                _command(library), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._count = 0
        self._early: dict[int, Any] = {}
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        try:
            self._process.wait(BOUND_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def connect(self, door: dict[str, Any], mode: str) -> Connection:
        self._count += 1
        name = f"line {self._count}"
        greeting = self.answer(self.send(name, "connect", door, mode))
        return Connection(self, name, greeting)

    def send(self, line: str, verb: str, given: dict[str, Any], mode: str = "") -> int:
        """Begin something; `answer` waits for its end."""
        self._count += 1
        asked = {"id": self._count, "line": line, "verb": verb, "given": given, "mode": mode}
        assert self._process.stdin
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return self._count

    def answer(self, number: int) -> Any:
        while number not in self._early:
            try:
                answer = self._answers.get(timeout=BOUND_SECONDS)
            except queue.Empty:
                raise TimeoutError(self._log.read_text("utf-8", "replace")[-4000:]) from None
            if answer is None:
                raise EOFError(self._log.read_text("utf-8", "replace")[-4000:])
            self._early[answer["id"]] = answer
        found = self._early.pop(number)
        if "error" in found:
            raise Refused(found["error"])
        return found["result"]

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._answers.put(json.loads(line))
        self._answers.put(None)


class Connection:
    """A client that is connected to a door."""

    def __init__(self, driver: Driver, name: str, greeting: dict[str, Any]) -> None:
        self._driver = driver
        self._name = name
        self.greeting = greeting

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._driver.answer(self._driver.send(self._name, "close", {}))

    def do(self, verb: str, **given: Any) -> Any:
        return self._driver.answer(self._driver.send(self._name, verb, given))

    def call(self, name: str, /, **arguments: Any) -> Any:
        """What a tool answers. The client has held it to the schema of the tool by then."""
        return self.do("callTool", name=name, arguments=arguments)

    def begin(self, name: str, /, **arguments: Any) -> int:
        """A call that is under way; `end` waits for its answer."""
        return self._driver.send(self._name, "callTool", {"name": name, "arguments": arguments})

    def end(self, begun: int) -> Any:
        return self._driver.answer(begun)

    def call_all(self, name: str, /, *arguments: dict[str, Any]) -> list[Any]:
        """Calls that are under way at the same time."""
        return [self.end(begun) for begun in [self.begin(name, **given) for given in arguments]]


def _command(library: str) -> list[str]:
    if library == PYTHON:
        # Deprecations of the client's own dependencies are none of ours.
        return [sys.executable, "-W", "ignore", str(HERE / "drive_python.py")]
    folder, package = SDK_1 if library == TYPESCRIPT_1 else CLIENT_2
    home = installed(folder, package)
    script = home / "drive.mjs"
    fresh = home / f"drive.{os.getpid()}.mjs"
    shutil.copy(HERE / "drive_typescript.mjs", fresh)
    fresh.replace(script)
    return ["node", str(script), folder[-1]]
