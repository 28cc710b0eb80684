"""A yard: a server with a project, agents and tasks, and Runners in homes of their own that start scripted agents for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from kumihimo.app import open_board
from kumihimo.domain.agent import CLIENTS
from kumihimo.domain.task import Task
from kumihimo.domain.token import Token
from kumihimo.engine.processes import tree
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.services.agents import KeyedAgent
from kumihimo.services.hosting import find_running
from kumihimo.services.projects import Place
from kumihimo.services.tasks import NewTask
from kumihimo.settings import Flags, load
from kumihimo.testing import scripts
from kumihimo.testing.scripts import Script
from tests.supervisor.patience import until

DOOMED = Path(__file__).with_name("doomed_runner.py")
_SESSION = "{{answer:authenticate.session_token}}"


def logs_in(script: Script) -> Script:
    """What the kick prompt asks for."""
    return script.mcp(
        "authenticate",
        agent_id=r"{{prompt:agent_id: (\S+)}}",
        passkey=r"{{prompt:passkey: (\S+)}}",
        project_id=r"{{prompt:project_id: (\S+)}}",
        seconds=60.0,
    ).mcp("get_my_task", session_token=_SESSION)


def reports(script: Script, result: str = "success", **more: Any) -> Script:
    return script.mcp("report_completed", session_token=_SESSION, result=result, seconds=60.0, **more)


def of_session(script: Script, tool: str, **arguments: Any) -> Script:
    return script.mcp(tool, session_token=_SESSION, **arguments)


class Yard:
    """Each of the `agents` is played by the CLI of its name."""

    def __init__(
        self,
        folder: Path,
        *,
        database: str | None = None,
        agents: tuple[str, ...] = ("codex",),
        models: dict[str, str | None] | None = None,
        worktrees: bool = False,
    ) -> None:
        self.folder = folder
        self.home = folder / "server"
        self.project_folder = folder / "project"
        self.log = folder / "agents.log"
        self.home.mkdir(parents=True)
        self.project_folder.mkdir()
        (self.home / "config.toml").write_text('admission = "slots"\n')
        (self.home / "port").write_text("0")
        self.variables = {"KUMI_HOME": str(self.home), **({"KUMI_DB": database} if database else {})}
        self.settings = load(Flags(), self.variables, self.project_folder)
        self.board = open_board(self.settings)
        if worktrees:
            self._commit()
        self.project = self.board.projects.add("shop", str(self.project_folder), worktrees=worktrees)
        self.agents: dict[str, KeyedAgent] = {}
        for client in agents:
            added = self.agents[client] = self.board.agents.add(
                f"the-{client}", client=client, model=(models or {}).get(client)
            )
            self.board.projects.assign(self.project.id, added.agent)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.runners: list[RunnerHome] = []
        self._port = 0

    def _commit(self) -> None:
        """The project as a repository with something in it."""
        (self.project_folder / "README").write_text("shop\n")
        who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
        for words in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "Begin"]):
            subprocess.run(["git", *words], cwd=self.project_folder, check=True, timeout=60)

    # The server.

    def up(self) -> subprocess.Popen[bytes]:
        """`kumi up`, once it can be reached; on the port that it had before."""
        started = self.spawn([sys.executable, "-m", "kumihimo", "up", "--port", str(self._port)], self.environment)
        running = until(lambda: (found := find_running(self.home)) and found.process.pid == started.pid and found)
        self._port = running.port
        return started

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KUMI_")}
        return {**kept, **self.variables, "KUMI_LANG": "en"}

    def spawn(self, words: list[str], environment: dict[str, str], **how: Any) -> subprocess.Popen[bytes]:
        with (self.folder / "said").open("ab") as said:
            how = {"stdin": subprocess.DEVNULL, "stdout": said, "stderr": said, "cwd": self.project_folder, **how}
            started = subprocess.Popen(words, env=environment, **how)
        self.processes.append(started)
        return started

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    def runner(self, name: str = "runner", **how: Any) -> RunnerHome:
        made = RunnerHome(self, self.folder / name, **how)
        self.runners.append(made)
        return made

    def spawn_local(self, runner: RunnerHome, *words: str) -> subprocess.Popen[bytes]:
        """A Runner in the home of the server itself, which is started on demand."""
        own = {**self.environment, **runner.variables}
        return self.spawn([sys.executable, "-m", "kumihimo", "runner", *words], own)

    # The board.

    def task(self, title: str = "work", agent: str = "codex") -> Task:
        who = self.agents[agent].agent.name
        new = NewTask(title, status="in_progress", assignee=who)
        return self.board.tasks.create(Place(self.project.id), new).task

    def show(self, task: Task) -> Task:
        return self.board.tasks.get(Place(), task.id)

    def until_status(self, task: Task, status: str) -> Task:
        return until(lambda: (now := self.show(task)).status == status and now, status)  # type: ignore[return-value]

    def instances(self) -> list[Any]:
        return self.board.store.read(lambda transaction: transaction.instances.many("ORDER BY started_at"))

    def until_instances(self, true: Callable[[list[Any]], object]) -> list[Any]:
        return until(lambda: (found := self.instances()) and true(found) and found, "instances")  # type: ignore[return-value]

    def pass_lease(self) -> None:
        """As if two minutes had gone by: what was told and seen was told and seen before."""
        earlier = int(timedelta(seconds=121) / timedelta(microseconds=1))

        def age(transaction: Any) -> None:
            connection = transaction.instances._connection
            connection.execute("UPDATE start_orders SET told_at = told_at - ?", (earlier,))
            connection.execute("UPDATE instances SET seen_at = seen_at - ?", (earlier,))

        self.board.store.write(age)

    def runner_token(self) -> str:
        return self.board.tokens.issue(Token("runner"))

    # Agents.

    def script(self, **about: Any) -> Script:
        return Script(log=self.log, **about)

    def records(self, event: str) -> list[dict[str, Any]]:
        return scripts.records(self.log, event)

    def until_records(self, event: str, count: int = 1) -> list[dict[str, Any]]:
        return until(lambda: len(found := self.records(event)) >= count and found, f"{event}: {self.said}")  # type: ignore[return-value]

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text("utf-8", "replace") if (self.folder / "said").exists() else ""

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        for home in (self.home, *(runner.home for runner in self.runners)):
            found = find_running(home)
            if found is not None:
                tree.send([found.process], signal.SIGKILL)
        for runner in self.runners:
            runner.end_instances()
        scripts.kill_leftovers(self.log)
        self.board.store.close()


class RunnerHome:
    """A home of a Runner. `play` is what its agents do; `settings` are further lines under `[runner]`."""

    def __init__(
        self,
        yard: Yard,
        home: Path,
        *,
        play: Script | None = None,
        plays: dict[str, Script] | None = None,
        settings: tuple[str, ...] = (),
        passkeys: dict[str, str] | None = None,
        token: str | None = None,
        commands: dict[str, list[str]] | None = None,
    ) -> None:
        self.yard = yard
        self.home = home
        self.home.mkdir(exist_ok=True)
        self.out = home / "events.jsonl"
        keys = {client: agent.passkey for client, agent in yard.agents.items()} if passkeys is None else passkeys
        self.variables = {f"PASSKEY_{number}": key for number, key in enumerate(keys.values())}
        self._token = token or yard.runner_token()
        lines = ["[runner]", *settings]
        for number, client in enumerate(keys):
            lines += [f'[runner.agents."{yard.agents[client].agent.id}"]', f'passkey = "${{PASSKEY_{number}}}"']
        for client in CLIENTS:
            script = (plays or {}).get(client, play)
            if script is None and client not in (commands or {}):
                continue
            words = (commands or {}).get(client) or self._command(client, script)  # type: ignore[arg-type]
            lines += [f"[clients.{client}]", f"command = {json.dumps(words)}"]
        (home / "config.toml").write_text("\n".join(lines) + "\n")

    def _command(self, client: str, script: Script) -> list[str]:
        file = self.home / f"{client}.script.json"
        file.write_text(json.dumps(script.document()))
        return scripts.command({"command": "text"}.get(client, client), script=file, log=self.yard.log)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("KUMI_")}
        return {**kept, "KUMI_HOME": str(self.home), "KUMI_LANG": "en", "KUMI_TOKEN": self._token, **self.variables}

    def spawn(self, *words: str, kills: list[dict[str, Any]] | None = None) -> subprocess.Popen[bytes]:
        """`kumi runner --server … --json`, which dies where it is told to."""
        program = [str(DOOMED), json.dumps(kills)] if kills else ["-m", "kumihimo"]
        server = [] if "--server" in words else ["--server", self.yard.url]
        with self.out.open("ab") as out:
            return self.yard.spawn(
                [sys.executable, *program, "runner", *server, "--json", "-v", *words], self.environment, stdout=out
            )

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        *whole, _ = self.out.read_bytes().split(b"\n") if self.out.exists() else [b""]
        found = [json.loads(line) for line in whole]
        return [event for event in found if kind in (None, event["event"])]

    def until_events(self, kind: str, count: int = 1) -> list[dict[str, Any]]:
        return until(lambda: len(found := self.events(kind)) >= count and found, f"{kind}: {self.yard.said}")  # type: ignore[return-value]

    def folders(self) -> list[RunFolder]:
        return [RunFolder(path) for path in sorted((self.home / "runner" / "instances").glob("*"))]

    def end_instances(self) -> None:
        for folder in self.folders():
            wrapper = folder.wrapper()
            processes = tree.of_run(folder.path.name, wrapper)
            tree.send(processes + ([wrapper] if wrapper else []), signal.SIGKILL)
