"""A home of a test: its settings, its board, a project, and every process that was started for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from kumihimo.app import open_board
from kumihimo.domain.execution import Execution
from kumihimo.engine.processes import identity, tree
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.services.groups import Errand, Limits
from kumihimo.services.hosting import find_running
from kumihimo.settings import Flags, load
from kumihimo.testing import scripts
from kumihimo.testing.scripts import Script

from .patience import until

HERE = Path(__file__).parent
CLIENTS = ("codex", "claude-code", "command")
_PLAYS = {"command": "text"}
_LONGEST_PROMPT = 100_000


class Home:
    """`slots` runs at once; further `settings` are lines of its config.toml."""

    def __init__(
        self,
        folder: Path,
        *,
        database: str | None = None,
        slots: int = 20,
        environment: dict[str, str] | None = None,
        settings: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.place = folder / "home"
        self.project_folder = folder / "project"
        self.log = folder / "agents.log"
        self.place.mkdir(parents=True)
        self.project_folder.mkdir()
        self._write_settings(slots, environment or {}, settings)
        # Any free port, whatever else runs on this machine.
        (self.place / "port").write_text("0")
        self.variables = {"KUMI_HOME": str(self.place), **({"KUMI_DB": database} if database else {})}
        self.settings = load(Flags(), self.variables, self.project_folder)
        self.board = open_board(self.settings)
        self.processes: list[subprocess.Popen[bytes]] = []
        if not self.board.projects.list():
            self.board.projects.add("project", str(self.project_folder))
            # Nobody logs in here, and to hash a passkey takes longer than all the rest.
            with mock.patch("kumihimo.services.passkeys.hash_of", return_value="none"):
                for client in CLIENTS:
                    self.board.agents.add(client, client=client)
        self.project = self.board.projects.list()[0]

    def _write_settings(self, slots: int, environment: dict[str, str], settings: Sequence[str]) -> None:
        lines = [f"max_concurrent = {slots}", 'admission = "slots"', *settings]
        for client in CLIENTS:
            words = scripts.command(_PLAYS.get(client, client), log=self.log)
            own = ", ".join(f"{name} = {json.dumps(value)}" for name, value in environment.items())
            lines += [f"[clients.{client}]", f"command = {json.dumps(words)}", f"env = {{ {own} }}"]
        (self.place / "config.toml").write_text("\n".join(lines) + "\n")

    # Processes.

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KUMI_")}
        return {**kept, **self.variables, "KUMI_LANG": "en"}

    def spawn(self, words: Sequence[str], **how: Any) -> subprocess.Popen[bytes]:
        with (self.folder / "said").open("ab") as said:
            how = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said, **how}
            started = subprocess.Popen(words, env=self.environment, cwd=self.project_folder, **how)
        self.processes.append(started)
        return started

    def supervisor(self, *kills: dict[str, Any], **order: Any) -> subprocess.Popen[bytes]:
        """The loop alone, which dies where it is told to."""
        words = json.dumps({"kills": list(kills), **order})
        return self.spawn([sys.executable, str(HERE / "doomed.py"), words])

    def up(self) -> subprocess.Popen[bytes]:
        """`kumi up`, once it can be reached."""
        started = self.spawn([sys.executable, "-m", "kumihimo", "up", "--port", "0"])
        until(lambda: (found := self.running()) and found.process.pid == started.pid, "kumi up")
        return started

    def running(self) -> Any:
        return find_running(self.place)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text("utf-8", "replace")

    # Runs.

    @property
    def limits(self) -> Limits:
        return Limits(self.settings.max_concurrent, self.project.id)

    def errand(self, script: Script, role: str = "codex", timeout_ms: int | None = None) -> Errand:
        prompt = script.prompt()
        if len(prompt) > _LONGEST_PROMPT:
            prompt = script.written(self.folder / f"{script.about['name']}.json")
        return Errand(role, prompt, str(self.project_folder), timeout_ms)

    def script(self, name: str | None = None, **about: Any) -> Script:
        return Script(name, log=self.log, **about)

    def run(self, *scripts_: Script, role: str = "codex", timeout_ms: int | None = None) -> list[Execution]:
        """All at once, in a group of their own."""
        group = self.board.groups.create("a group")
        errands = [self.errand(script, role, timeout_ms) for script in scripts_]
        return self.board.groups.run(group.id, errands, self.limits)

    def plan(self, stages: Sequence[Sequence[Script]], role: str = "codex", **how: Any) -> list[list[Execution]]:
        group = self.board.groups.create("a plan", mode="sequential")
        errands = [[self.errand(script, role) for script in stage] for stage in stages]
        return self.board.groups.plan(group.id, errands, self.limits, **how).stages

    def show(self, run: Execution) -> Execution:
        return self.board.executions.show(run.id)

    def seen(self, run: Execution) -> Any:
        return self.board.executions.sight(run.id).seen

    def run_folder(self, run: Execution) -> RunFolder:
        return RunFolder(self.place / "runs" / run.id)

    def ended(self, runs: Iterable[Execution]) -> list[Execution]:
        """The runs as they are once all of them are over."""
        runs = list(runs)

        def look() -> list[Execution] | None:
            now = [self.show(run) for run in runs]
            return now if not any(run.live for run in now) else None

        return until(look, "the end of the runs")

    def until_status(self, run: Execution, status: str) -> Execution:
        return until(lambda: (now := self.show(run)).status == status and now, f"{status}")  # type: ignore[return-value]

    def lines(self, run: Execution) -> list[str]:
        """Everything that it printed, read a few lines at a time."""
        found: list[str] = []
        cursor = None
        while True:
            output = self.board.outputs.read(run.id, cursor, 7_000 if len(found) > 1_000 else 7)
            found += output.lines
            if output.done:
                return found
            assert output.next_cursor != cursor, "a run that is over has an end"
            cursor = output.next_cursor

    def records(self, event: str, name: str | None = None) -> list[dict[str, Any]]:
        return scripts.records(self.log, event, name)

    def until_records(self, event: str, count: int) -> list[dict[str, Any]]:
        return until(lambda: (found := self.records(event)) and len(found) >= count and found, event)

    def holding_slots(self) -> int:
        return self.board.store.read(lambda transaction: transaction.executions.holding_slots())

    def all_runs(self) -> list[Execution]:
        return self.board.store.read(lambda transaction: transaction.executions.many())

    def alive(self) -> list[int]:
        """Every process of any run of this board that lives."""
        runs = {run.id: self.run_folder(run).wrapper() for run in self.all_runs()}
        found = {process.pid for processes in tree.of_runs(runs).values() for process in processes}
        found |= {wrapper.pid for wrapper in runs.values() if wrapper and not identity.proven_dead(wrapper)}
        return sorted(found | {record["pid"] for record in scripts.records(self.log) if scripts.is_alive(record)})

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        found = self.running()
        if found is not None:
            # One that a door has started.
            tree.send([found.process], signal.SIGKILL)
        runs = {run.id: self.run_folder(run).wrapper() for run in self.all_runs()}
        for run, processes in tree.of_runs(runs).items():
            wrapper = runs[run]
            tree.send(processes + ([wrapper] if wrapper else []), signal.SIGKILL)
        scripts.kill_leftovers(self.log)
        self.board.store.close()
