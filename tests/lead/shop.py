"""A home with a project, roles played by scripted agents, and doors to it. The supervisor is started by whoever needs it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from kumihimo.app import now
from kumihimo.domain.identifiers import Identifiers
from kumihimo.engine.processes.identity import proven_dead
from kumihimo.services.board import Board
from kumihimo.services.hosting import Running, find_running
from kumihimo.store.store import open_store
from kumihimo.testing import scripts
from kumihimo.testing.scripts import Script
from tests.mcp.client import Answer, StdioClient

BOUND_SECONDS = 60.0
# Roles by name, and the client that plays each.
ROLES = {"coder": "claude-code", "tester": "codex", "writer": "gemini-cli"}
MISSING_RUN = "exec_000000000000"
MISSING_GROUP = "grp-0000000000-0000"


def until(true: Callable[[], Any], seconds: float = BOUND_SECONDS) -> Any:
    """What `true` answers once it is something; for what another process does."""
    deadline = time.monotonic() + seconds
    while True:
        found = true()
        if found:
            return found
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


class Lead(StdioClient):
    """A client of `lead` on stdio."""

    def group(self, mode: str = "concurrent") -> str:
        return self.call("create_group", description="A test", mode=mode)["groupId"]

    def run(self, group: str, *wishes: Script | str | dict[str, Any], role: str = "coder") -> list[str]:
        """The ids of runs of these scripts."""
        answer = self.call("run_agents", groupId=group, agents=[wish(one, role) for one in wishes])
        assert not answer.is_error, answer.data
        return [agent["agentId"] for agent in answer["agents"]]

    def plan(self, group: str, *stages: Iterable[Script | str], **more: Any) -> dict[str, Any]:
        told = [{"tasks": [wish(one) for one in stage]} for stage in stages]
        answer = self.call("run_sequential", groupId=group, stages=told, **more)
        assert not answer.is_error, answer.data
        return answer.data

    def status(self, run: str) -> dict[str, Any]:
        return self.call("get_agent_status", agentId=run).data

    def wait(self, *runs: str, **more: Any) -> dict[str, Any]:
        return self.call("wait_agent", **{"timeout_ms": int(BOUND_SECONDS * 1000), **more}, agentIds=list(runs)).data

    def ended(self, *runs: str) -> list[dict[str, Any]]:
        """The whole state of runs, once their processes have ended."""
        until(lambda: all(self.status(run)["endedAt"] for run in runs))
        return [self.status(run) for run in runs]

    def refused(self, name: str, /, **arguments: Any) -> str:
        """The code of a refusal, which has the shape that all of them have."""
        answer: Answer = self.call(name, **arguments)
        assert answer.is_error, answer.data
        assert set(answer.data) == {"error", "code", "message"}
        assert answer["error"] is True
        assert answer["message"]
        return answer["code"]

    def ask(self, method: str, params: dict[str, Any]) -> int:
        """Ask without waiting; the id of the request."""
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        return self._count


def wish(one: Script | str | dict[str, Any], role: str = "coder") -> dict[str, Any]:
    if isinstance(one, dict):
        return {"role": role, "prompt": "Do it.", **one}
    return {"role": role, "prompt": one.prompt() if isinstance(one, Script) else one}


class Shop:
    def __init__(self, folder: Path, database: str | None = None, **settings: Any) -> None:
        self.folder = folder / "shop"
        self.folder.mkdir()
        self.home = folder / "home"
        self.home.mkdir()
        self.log = folder / "agents.jsonl"
        self.gates = folder / "gates"
        self.gates.mkdir()
        self.configure(**settings)
        # A port that no other test takes while this home has no host.
        (self.home / "port").write_text(str(free_port()))
        self.database = database or str(self.home / "kumi.db")
        self.board = Board(open_store(self.database), now, Identifiers(os.urandom))
        self.project = self.board.projects.add("shop", str(self.folder))
        for role, client in ROLES.items():
            self.role(role, client)
        self._clients: list[StdioClient] = []
        self._gates = 0

    def configure(self, commands: dict[str, list[str]] | None = None, **settings: Any) -> None:
        """Write the configuration: scripted agents for every client but those that are given."""
        known = {client: scripts.command(client, log=self.log) for client in ROLES.values()} | (commands or {})
        lines = [f"{name} = {json.dumps(value)}" for name, value in {"admission": "slots", **settings}.items()]
        for client, command in known.items():
            lines += [f"[clients.{client}]", f"command = {json.dumps(command)}"]
        (self.home / "config.toml").write_text("\n".join(lines) + "\n")

    def role(self, name: str, client: str, **more: Any) -> None:
        made = self.board.agents.add(name, client=client, **more)
        self.board.projects.assign(self.project.id, made.agent)

    def lead(self) -> Lead:
        client = Lead(self.home, self.folder, "lead", database=self.database)
        self._clients.append(client)
        return client

    def gate(self) -> Path:
        """A file that is not there yet: scripts wait for it, a test makes it."""
        self._gates += 1
        return self.gates / str(self._gates)

    def script(self, name: str | None = None, **about: Any) -> Script:
        return Script(name, log=self.log, **about)

    def records(self, event: str | None = None, name: str | None = None) -> list[dict[str, Any]]:
        return scripts.records(self.log, event, name)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KUMI_")}
        return {**kept, "KUMI_HOME": str(self.home), "KUMI_DB": self.database, "KUMI_LANG": "en"}

    def kumi(self, *words: str, code: int = 0) -> Any:
        """The JSON of a verb."""
        said = self.kumi_plain(*words, "--json", code=code)
        return msgspec.json.decode(said) if said else None

    def kumi_plain(self, *words: str, code: int = 0) -> str:
        """What a verb prints."""
        done = subprocess.run(
            [sys.executable, "-m", "kumihimo", *words], cwd=self.folder, env=self.environment,
            capture_output=True, text=True, check=False, timeout=BOUND_SECONDS,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout

    @property
    def host(self) -> Running | None:
        return find_running(self.home)

    def kill_host(self) -> Running:
        """As a crash would: nothing is tidied up."""
        found = until(lambda: self.host)
        os.kill(found.process.pid, signal.SIGKILL)
        until(lambda: not found.alive)
        return found

    def close(self) -> None:
        for client in self._clients:
            client.close()
        host = self.host
        if host is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(host.process.pid, signal.SIGTERM)
            until(lambda: proven_dead(host.process))
        scripts.kill_leftovers(self.log)
        self.board.store.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]
