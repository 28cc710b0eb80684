"""The whole product around one real CLI: a home with its configuration, a project, an agent, and a lead who talks to it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from kumihimo.app import now
from kumihimo.domain.identifiers import Identifiers
from kumihimo.engine.processes.wrapper import MARKER
from kumihimo.services.board import Board
from kumihimo.services.hosting import find_running
from kumihimo.store.store import open_store
from tests.lead.shop import Lead, free_port, until
from tests.real.clis import Cli, Settings
from tests.real.model import Model

AGENT = "worker"
WAIT_MS = 120_000
_KEY = "key-of-a-test-0123456789"


def _with_a_long_key(own: Settings) -> Settings:
    """A key is struck out wherever an agent says it, so it is not to be a word that the scripted model says."""
    return replace(own, env={name: _KEY if name.endswith("_KEY") else value for name, value in own.env.items()})


class Product:
    """`product.run(prompt)` is what became of an agent with that prompt."""

    def __init__(self, cli: Cli, model: Model, folder: Path, **settings: int) -> None:
        self.model = model
        self.folder = folder / "project"
        self.folder.mkdir()
        self._home = folder / "kumi"
        self._home.mkdir()
        own = _with_a_long_key(cli.pointed_at(model.url, folder / "home"))
        lines = [f"{name} = {value}" for name, value in settings.items()]
        (self._home / "config.toml").write_text("\n".join(['admission = "slots"', *lines, own.toml(cli.name)]), "utf-8")
        (self._home / "port").write_text(str(free_port()))
        self.kumi("init")
        chosen = ["--model", own.model] if own.model else []
        self.kumi("agent", "add", AGENT, "--client", cli.name, *chosen)
        self.lead = Lead(self._home, self.folder, "lead")
        self.board = Board(open_store(str(self._home / "kumi.db")), now, Identifiers(os.urandom))
        self._runs: list[str] = []

    def begin(self, prompt: str, **more: Any) -> str:
        (run,) = self.lead.run(self.lead.group(), {"prompt": prompt, **more}, role=AGENT)
        self._runs.append(run)
        return run

    def end(self, run: str) -> dict[str, Any]:
        """The state of a run, once it is done."""
        self.lead.wait(run, timeout_ms=WAIT_MS)
        return self.lead.status(run)

    def run(self, prompt: str) -> dict[str, Any]:
        return self.end(self.begin(prompt))

    def go_on(self, run: str, prompt: str) -> dict[str, Any]:
        begun = self.lead.call("continue_agent", agentId=run, prompt=prompt)
        assert not begun.is_error, begun.data
        self._runs.append(begun["agentId"])
        return self.end(begun["agentId"])

    def conversation(self, run: str) -> str | None:
        return self.board.executions.sight(run).seen.conversation

    def stated_reset(self, run: str) -> datetime | None:
        """What the vendor said about when its limit ends, as it was read from the stream."""
        conclusion = self.board.executions.sight(run).seen.conclusion
        return conclusion.reset_at if conclusion else None

    def processes(self, run: str) -> list[int]:
        """Every process that has the mark of this run in its environment."""
        wanted = f"{MARKER}={run}".encode()
        found: list[int] = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
        return found

    def kill_host(self) -> None:
        """As a crash would."""
        host = until(lambda: find_running(self._home))
        os.kill(host.process.pid, signal.SIGKILL)
        until(lambda: not host.alive)

    def kumi(self, *words: str) -> Any:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KUMI_")}
        done = subprocess.run(
            [sys.executable, "-m", "kumihimo", *words, "--json"], cwd=self.folder, capture_output=True, text=True,
            env={**kept, "KUMI_HOME": str(self._home), "KUMI_LANG": "en"}, check=False, timeout=WAIT_MS / 1000,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return msgspec.json.decode(done.stdout)

    def close(self) -> None:
        self.lead.close()
        host = find_running(self._home)
        if host is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(host.process.pid, signal.SIGTERM)
            until(lambda: not host.alive)
        for pid in [pid for run in self._runs for pid in self.processes(run)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.board.store.close()
