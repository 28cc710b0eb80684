"""Any program: the prompt on stdin, and what it prints is what it says."""

from __future__ import annotations

from collections.abc import Iterable

from kumihimo.engine.agents.client import Client, Ending, Order, Reader, Start, Verdict
from kumihimo.engine.agents.happenings import UNUSED, Failed, Finished, Happening, Said, Usage
from kumihimo.engine.agents.prompts import headed
from kumihimo.engine.agents.registry import find


class Command(Client):
    """A program that a user names. With a `dialect`, the name of a CLI, its stream is read and judged as that CLI's;
    without one, it prints plain text and its exit code alone says whether it succeeded."""

    name = "command"
    programs = ()
    resumable = False

    def __init__(self, dialect: str | None = None) -> None:
        self._dialect = find(dialect) if dialect else None

    def start(self, order: Order) -> Start:
        environment = {"KUMI_MCP_URL": order.door.url} if order.door else {}
        if order.model:
            environment["KUMI_MODEL"] = order.model
        return Start((), environment, headed(order))

    def reader(self, before: Usage = UNUSED) -> Reader:
        return self._dialect.reader(before) if self._dialect else PlainReader()

    def judge(self, seen: Finished | Failed | None, ending: Ending, errors: str) -> Verdict:
        if self._dialect:
            return self._dialect.judge(seen, ending, errors)
        return super().judge(seen or Finished(), ending, errors)


class PlainReader(Reader):
    def read(self, line: bytes) -> Iterable[Happening]:
        text = line.decode("utf-8", "replace").rstrip()
        return (Said(text),) if text else ()
