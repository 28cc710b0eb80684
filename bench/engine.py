"""The engine: how soon an agent runs, how soon its end is known, and what following many of them costs."""

from __future__ import annotations

import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from samples import Samples, ratio, stolen

from kumihimo.domain.observation import Usage
from kumihimo.engine.agents import registry
from kumihimo.engine.agents.observer import Observer
from kumihimo.engine.processes.capture import Capture
from kumihimo.services.hosting import find_running

# Tells the time at once, says it, waits for a file or a while where its prompt says so, and tells it again.
_AGENT = """\
begin=$EPOCHREALTIME
read -rd '' prompt
case $prompt in
*GATE=*) gate=${prompt##*GATE=}; while [ ! -e "$gate" ]; do read -rt 0.002 <> <(:); done;;
*HOLD=*) read -rt 0.5 <> "${prompt##*HOLD=}";;
esac
echo "$begin $EPOCHREALTIME"
"""
FEED = """\
prompt=$(</dev/stdin)
exec cat "${prompt##*PIPE=}"
"""
_FOLLOWED = 200
_SECONDS = 10
_BREATH = 0.15
# So many that one moment in which the machine was held up is not the hundredth part of them.
_ROUNDS_OF_TWENTY, _ENDS, _PLANS = 100, 300, 30


class Bench:
    """A home with a project and a stdio door to it."""

    def __init__(self, folder: Path, slots: int, agent: str, client: str = "command") -> None:
        self.home, self.repository = folder / "home", folder / "shop"
        self.home.mkdir(parents=True)
        self.repository.mkdir()
        script = folder / "agent"
        script.write_text(agent)
        (self.home / "config.toml").write_text(
            f'max_concurrent = {slots}\nadmission = "slots"\n[clients.{client}]\ncommand = ["/bin/bash", "{script}"]\n'
        )
        self.environment = {**os.environ, "KUMI_HOME": str(self.home)}
        self.kumi("init")
        self.kumi("agent", "add", "tester", "--client", client)
        self.kumi("up", "--detach")
        self._door = subprocess.Popen(
            [sys.executable, "-m", "kumihimo", "mcp", "serve", "--toolset", "lead"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment, cwd=self.repository,
        )  # fmt: skip
        self._id = 0
        self.ask(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
        )
        self.group = self.call("create_group", description="bench")["groupId"]

    def kumi(self, *words: str) -> str:
        run = subprocess.run(
            [sys.executable, "-m", "kumihimo", *words],
            env=self.environment, cwd=self.repository, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return run.stdout

    def send(self, method: str, params: Any) -> int:
        assert self._door.stdin
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self._door.stdin.write(json.dumps(message).encode() + b"\n")
        self._door.stdin.flush()
        return self._id

    def answer(self, number: int) -> Any:
        assert self._door.stdout
        while True:
            message = json.loads(self._door.stdout.readline())
            if message.get("id") == number:
                return message["result"]

    def ask(self, method: str, params: Any) -> Any:
        return self.answer(self.send(method, params))

    def call(self, tool: str, **arguments: Any) -> Any:
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["structuredContent"]

    def run(self, *prompts: str) -> list[str]:
        agents = [{"role": "tester", "prompt": prompt} for prompt in prompts]
        return [agent["agentId"] for agent in self.call("run_agents", groupId=self.group, agents=agents)["agents"]]

    def told(self, run: str) -> tuple[float, float]:
        """When the agent began and when it said its last line, by its own clock."""
        begin, end = self.call("get_agent_output", agentId=run)["lines"][0].split()
        return float(begin), float(end)

    @property
    def host(self) -> int:
        found = find_running(self.home)
        assert found is not None
        return found.process.pid

    def close(self) -> None:
        assert self._door.stdin
        self._door.stdin.close()
        self._door.wait()
        self.kumi("down")


def run(folder: Path) -> None:
    bench = Bench(folder / "quick", 20, _AGENT)
    try:
        _starts(bench, folder)
        _ends(bench, folder)
        _stages(bench)
        _idle(bench)
    finally:
        bench.close()
    _ingest(folder)
    _many(folder)


def _starts(bench: Bench, folder: Path) -> None:
    _start_one(bench, str(folder / "quick" / "agent"))
    _start_twenty(bench, str(folder / "quick" / "agent"), folder / "hold")


def _start_one(bench: Bench, script: str) -> None:
    bare, ours = Samples(), Samples()
    for _ in range(60):
        mark = stolen()
        begun = time.time()
        child = subprocess.Popen(["/bin/bash", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        told, _ = child.communicate()
        bare.add([(float(told.split()[0]) - begun) * 1000], mark)
        mark = stolen()
        begun = time.time()
        (one,) = bench.run("go")
        bench.call("wait_agent", agentIds=[one])
        ours.add([(bench.told(one)[0] - begun) * 1000], mark)
        # Nobody starts agents one by one without a breath; what is left of the one before is not what is measured.
        time.sleep(_BREATH)
    print(f"  one agent, from the call to its exec: {ours}; bare Popen {bare}; {ratio(ours, bare)} (budget 3)")


def _start_twenty(bench: Bench, script: str, pipe: Path) -> None:
    ours, bare = Samples(), Samples()
    os.mkfifo(pipe)
    for _ in range(_ROUNDS_OF_TWENTY):
        mark = stolen()
        bare.add(_twenty_bare(script), mark)
        time.sleep(3 * _BREATH)
        mark = stolen()
        begun = time.time()
        # They stay for a while, as agents do: what the end of the first costs is not what starting the last takes.
        runs = bench.run(*[f"HOLD={pipe}"] * 20)
        number = bench.send("tools/call", {"name": "wait_agent", "arguments": {"agentIds": runs}})
        time.sleep(_BREATH)
        taken = stolen()
        bench.answer(number)
        ours.add([(bench.told(one)[0] - begun) * 1000 for one in runs], mark, taken)
        time.sleep(3 * _BREATH)
    print(
        f"  twenty at once, each from the call to its exec: {ours} (budget p99 50 ms); "
        f"bare Popen, one after the other: {bare}"
    )


def _twenty_bare(script: str) -> list[float]:
    """The least that a machine takes for it: by a small process, with nothing written down and nothing followed."""
    begun = time.time()
    children = [
        subprocess.Popen(["/bin/bash", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(20)
    ]
    return [(float(child.communicate()[0].split()[0]) - begun) * 1000 for child in children]


def _ends(bench: Bench, folder: Path) -> None:
    late = Samples()
    for index in range(_ENDS):
        gate = folder / f"gate{index}"
        (one,) = bench.run(f"GATE={gate}")
        while bench.call("get_agent_status", agentId=one)["status"] != "running":
            time.sleep(0.005)
        number = bench.send("tools/call", {"name": "wait_agent", "arguments": {"agentIds": [one]}})
        time.sleep(0.05)
        mark = stolen()
        gate.touch()
        bench.answer(number)
        answered = time.time()
        late.add([(answered - bench.told(one)[1]) * 1000], mark)
    print(f"  from an agent's last line to the answer of wait_agent: {late} (budget p99 20 ms)")


def _stages(bench: Bench) -> None:
    late = Samples()
    for _ in range(_PLANS):
        mark = stolen()
        group = bench.call("create_group", description="bench", mode="sequential")["groupId"]
        stage = {"tasks": [{"role": "tester", "prompt": "go"}] * 3}
        plan = bench.call("run_sequential", groupId=group, stages=[stage] * 4)
        bench.call("wait_agent", agentIds=[agent["agentId"] for agent in plan["agents"]])
        taken = stolen()
        times = [[bench.told(run) for run in stage["agentIds"]] for stage in plan["stages"]]
        for before, after in itertools.pairwise(times):
            end = max(told for _, told in before)
            late.add([(begin - end) * 1000 for begin, _ in after], mark, taken)
    print(f"  from the end of a stage to the exec of the next: {late} (budget 50 ms)")


def _idle(bench: Bench) -> None:
    time.sleep(3)
    before = cpu(bench.host)
    time.sleep(20)
    print(f"  idle: {(cpu(bench.host) - before) / 20:.3%} of a core (budget 0.1 %)")


def _ingest(folder: Path) -> None:
    """A supervisor that comes back reads what it missed."""
    line = json.dumps(
        {
            "type": "assistant",
            "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "x" * 120}]},
        }
    )
    capture = folder / "capture"
    capture.write_text((line + "\n") * 500_000)
    for name in ("claude-code", "codex", "gemini-cli"):
        reading = Capture(capture, (b"a-secret-token", b"another-secret"))
        observer = Observer("exec_x", registry.find(name).reader(Usage()))
        begun = time.perf_counter()
        while lines := reading.read():
            observer.observe(lines)
        print(
            f"  catching up, {name}'s reader: {500_000 / (time.perf_counter() - begun):,.0f} lines/s (budget 100,000)"
        )
        reading.close()


def _many(folder: Path) -> None:
    """Each agent is a `cat` of a pipe that we write to: what is measured is us, not two hundred interpreters."""
    bench = Bench(folder / "many", _FOLLOWED, FEED)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    line = (
        json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "y" * 100}]}}).encode()
        + b"\n"
    )
    pipes = []
    try:
        for index in range(_FOLLOWED):
            os.mkfifo(folder / f"pipe{index}")
        runs = bench.run(*[f"PIPE={folder / f'pipe{index}'}" for index in range(_FOLLOWED)])
        pipes = [os.open(folder / f"pipe{index}", os.O_WRONLY) for index in range(_FOLLOWED)]
        time.sleep(2)
        before, begun = cpu(bench.host), time.monotonic()
        for step in range(_SECONDS * 10):
            for pipe in pipes:
                os.write(pipe, line * 10)
            time.sleep(max(0.0, begun + (step + 1) / 10 - time.monotonic()))
        took = time.monotonic() - begun
        used = (cpu(bench.host) - before) / took
        held = memory(bench.host)
        for pipe in pipes:
            os.close(pipe)
        pipes = []
        answer = bench.call("wait_agent", agentIds=runs)
        lines = sum(len(_all_lines(bench, run)) for run in runs[:5])
        good = sum(one["status"] == "completed" for one in answer["completed"])
        print(
            f"  {_FOLLOWED} agents at 100 lines/s for {took:.0f} s: {used:.0%} of a core, {held:.0f} MB "
            f"(budget 50 %, 100 MB); {good} completed, {lines} of {5 * _SECONDS * 100} lines of the first five"
        )
    finally:
        for pipe in pipes:
            os.close(pipe)
        bench.close()


def _all_lines(bench: Bench, run: str) -> list[str]:
    return bench.call("get_agent_output", agentId=run, limit=10_000)["lines"]


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    import tempfile

    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with tempfile.TemporaryDirectory(prefix="kumi-bench-") as there:
        run(Path(there))
