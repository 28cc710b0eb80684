"""A machine of the trial: a namespace with a home, its host process and its Runner, and what may befall it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.services.hosting import find_running
from kumihimo.testing import scripts
from tests.supervisor.patience import until

from .network import Namespace
from .workload import Workload

HERE = Path(__file__).parent
PORT = 9696


class Machine:
    def __init__(self, namespace: Namespace, folder: Path, work: Workload, slots: int) -> None:
        self.namespace = namespace
        self.home = folder / namespace.name
        self._work = work
        self._slots = slots
        keep = {name: value for name, value in os.environ.items() if not name.startswith("KUMI_")}
        own = {"KUMI_HOME": str(self.home), "KUMI_DB": work.database, "KUMI_LANG": "en"}
        self._environment = {**keep, **own}
        passkeys = {f"PASSKEY_{number}": passkey for number, passkey in enumerate(work.passkeys.values())}
        self._secrets = {"KUMI_TOKEN": work.runner_token, **passkeys}
        self._processes: list[subprocess.Popen[bytes]] = []
        self.home.mkdir()
        self._write_settings()

    def _write_settings(self) -> None:
        play = self.home / "script.json"
        play.write_text(json.dumps(self._work.script.document()))
        lines = [
            f"max_concurrent = {self._slots}",
            'admission = "slots"',
            "[host]",
            f'name = "{self.namespace.name}"',
            "[clients.command]",
            f"command = {json.dumps(['sh', str(HERE / 'agent.sh')])}",
            f'env = {{ TRACE = "{self._work.trace}" }}',
            "[clients.codex]",
            f"command = {json.dumps(scripts.command('codex', script=play, log=self._work.agents_log))}",
            "[runner]",
            "max_concurrent = 3",
        ]
        for number, agent in enumerate(self._work.passkeys):
            lines += [f'[runner.agents."{agent}"]', f'passkey = "${{PASSKEY_{number}}}"']
        (self.home / "config.toml").write_text("\n".join(lines) + "\n")

    # Its life.

    def start(self) -> None:
        """Its host process where it has none, and its Runner where it has none."""
        running = self._running("up")
        if not running:
            self._spawn("up", "--port", str(PORT))
        if not self._running("runner"):
            self._spawn("runner", "--server", f"http://127.0.0.1:{PORT}", "--json", **self._secrets)

    def until_up(self) -> None:
        until(lambda: find_running(self.home), f"{self.namespace.name}: {self.said}")

    def kill_host(self) -> None:
        """The host process dies; its agents and its Runner go on."""
        self._signal(self._running("up"), signal.SIGKILL)

    def kill_runner(self) -> None:
        self._signal(self._running("runner"), signal.SIGKILL)

    def kill_all(self) -> None:
        """As if the power had gone: nothing that runs here lives on."""
        self._signal(self.namespace.processes(), signal.SIGKILL)

    def freeze(self, *, agents: bool) -> None:
        """Held still: everything, or the host process alone."""
        self._signal(self.namespace.processes() if agents else self._running("up"), signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(self.namespace.processes(), signal.SIGCONT)

    def cut(self) -> None:
        self.namespace.pull()

    def join(self) -> None:
        self.namespace.plug()

    def close(self) -> None:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            self.kill_all()
        for process in self._processes:
            process.wait()

    # What it has.

    @property
    def said(self) -> str:
        file = self.home / "said"
        return file.read_text("utf-8", "replace") if file.exists() else ""

    @property
    def host_id(self) -> str:
        return (self.home / "host").read_text().strip()

    def run_folder(self, run: str) -> RunFolder:
        return RunFolder(self.home / "runs" / run)

    def read_log(self, run: str) -> list[str]:
        """What `kumi run logs` prints here."""
        words = [sys.executable, "-m", "kumihimo", "run", "logs", run]
        found = subprocess.run(
            self.namespace.inside(*words),
            env=self._environment,
            cwd=self._work.project_folder,
            check=True,
            capture_output=True,
            timeout=120,
        )
        return found.stdout.decode().splitlines()

    def _spawn(self, verb: str, *words: str, **more: str) -> None:
        with (self.home / "said").open("ab") as said:
            self._processes.append(
                subprocess.Popen(
                    self.namespace.inside(sys.executable, str(HERE / "hasty.py"), verb, *words),
                    env={**self._environment, **more},
                    cwd=self._work.project_folder,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                )
            )

    def _running(self, verb: str) -> list[int]:
        """The processes of ours that were started with this word and live."""
        live = [process for process in self._processes if process.poll() is None]
        return [process.pid for process in live if verb in process.args[6:7]]  # type: ignore[index]

    def _signal(self, pids: Iterable[int], number: signal.Signals) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
