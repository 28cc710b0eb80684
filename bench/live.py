"""What happens, as people see it: two hundred agents that talk, fifty who watch, from an agent's line to the browser."""

from __future__ import annotations

import json
import os
import resource
import selectors
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from engine import FEED, Bench, cpu, memory
from tables import budget, median, percentile

from kumihimo.services.hosting import Running, find_running

_AGENTS = 200
_WATCHERS = 50
_SECONDS = 10.0
_TICK = 0.05
_UP = 5


def run(folder: Path) -> None:
    print("\nWatching")
    _starting(folder)
    for watchers in (1, _WATCHERS):
        _watching(folder / str(watchers), watchers)


def _starting(folder: Path) -> None:
    """From the start of `kumi up` to the first answer of `/healthz`."""
    took: list[float] = []
    for count in range(_UP):
        home = folder / f"up{count}"
        home.mkdir()
        environment = {**os.environ, "KUMI_HOME": str(home)}
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "kumihimo", "up", "--port", str(port)], env=environment, stdout=subprocess.DEVNULL
        )
        while True:
            try:
                with socket.create_connection(("127.0.0.1", port)) as connection:
                    connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
                    assert b"200" in connection.recv(100)
                    break
            except ConnectionRefusedError:
                time.sleep(0.002)
        took.append(time.perf_counter() - begun)
        process.terminate()
        process.wait()
    budget("from `kumi up` to an answer of /healthz", median(took), 0.5, " s")


class Agents:
    """Each is a `cat` of a pipe that we write to, ten lines every tenth of a second and the time in each of them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.bench = Bench(folder / "many", _AGENTS, FEED, client="claude-code")
        self._paths = [folder / f"pipe{index}" for index in range(_AGENTS)]
        for path in self._paths:
            os.mkfifo(path)
        self.runs = self.bench.run(*[f"PIPE={path}" for path in self._paths])
        self._pipes = [os.open(path, os.O_WRONLY) for path in self._paths]
        self.said = 0

    def talk(self, seconds: float) -> None:
        """A hundred lines a second each; the agents are spread over a tick, as they would be."""
        begun = time.monotonic()
        due = begun
        each = _TICK / _AGENTS
        while due < begun + seconds:
            for pipe in self._pipes:
                rest = due - time.monotonic()
                if rest > 0.001:
                    time.sleep(rest)
                self.said += 1
                os.write(pipe, _lines(self.said, int(100 * _TICK)))
                due += each

    def end(self) -> None:
        for pipe in self._pipes:
            os.write(pipe, b'{"type":"result","subtype":"success","is_error":false,"result":"done"}\n')
            os.close(pipe)


def _lines(number: int, count: int) -> bytes:
    words = f"{time.monotonic():.6f} {number} and some more words, as agents have them, to fill the line"
    line = {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}
    return (json.dumps(line, separators=(",", ":")).encode() + b"\n") * count


class Audience(threading.Thread):
    """Browsers that read what comes and count what may not be missed."""

    def __init__(self, running: Running, home: Path, count: int) -> None:
        super().__init__(daemon=True)
        self._selector = selectors.DefaultSelector()
        self.ended = [0] * count
        self._rests = [b""] * count
        for index in range(count):
            self._selector.register(_socket(running, home), selectors.EVENT_READ, index)

    def run(self) -> None:
        while True:
            for key, _ in self._selector.select(1.0):
                data = key.fileobj.recv(1 << 20)  # type: ignore[union-attr]
                if not data:
                    return
                whole = self._rests[key.data] + data
                self.ended[key.data] += whole.count(b'{"type":"agent:completed"')
                self._rests[key.data] = whole[-24:]


def _socket(running: Running, home: Path) -> socket.socket:
    token = (home / "token").read_text().strip()
    connection = socket.create_connection(("127.0.0.1", running.port))
    connection.sendall(
        f"GET /ws HTTP/1.1\r\nhost: 127.0.0.1:{running.port}\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        f"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        f"authorization: Bearer {token}\r\n\r\n".encode()
    )
    return connection


class Browser(threading.Thread):
    """One that looks into every message: how old was the newest line of an agent when it came?"""

    def __init__(self, running: Running, home: Path) -> None:
        super().__init__(daemon=True)
        from websockets.sync.client import connect

        token = (home / "token").read_text().strip()
        self._connect = connect(
            f"ws://127.0.0.1:{running.port}/ws",
            additional_headers={"authorization": f"Bearer {token}"},
            max_size=None,
            compression=None,
        )
        self.ages: list[float] = []
        self.messages = 0
        self.ended = 0
        self._newest: dict[str, float] = {}

    def run(self) -> None:
        with self._connect as connection:
            while self.ended < _AGENTS:
                self._read(connection.recv())

    def _read(self, text: str | bytes) -> None:
        now = time.monotonic()
        message = json.loads(text)
        self.messages += 1
        if message["type"] == "agent:completed":
            self.ended += 1
        elif message["type"] == "agent:status_update":
            words = (message["data"]["lastAssistantMessage"] or "").split()
            if len(words) > 2:
                self._note(message["data"]["agentId"], float(words[0]), now)

    def _note(self, run: str, said: float, now: float) -> None:
        """Also for the lines before the one that is shown: they came with it, and are older."""
        known = self._newest.get(run, said - _TICK)
        self._newest[run] = max(known, said)
        while said > known:
            self.ages.append((now - said) * 1000)
            said -= _TICK


def _watching(folder: Path, watchers: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    agents = Agents(folder)
    bench = agents.bench
    running = find_running(bench.home)
    assert running is not None
    try:
        browser = Browser(running, bench.home)
        browser.start()
        audience = Audience(running, bench.home, watchers - 1)
        audience.start()
        agents.talk(2.0)
        browser.ages.clear()
        before, begun, resident = cpu(bench.host), time.monotonic(), memory(bench.host)
        agents.talk(_SECONDS)
        took = time.monotonic() - begun
        used = (cpu(bench.host) - before) / took
        grown = memory(bench.host) - resident
        agents.end()
        browser.join(60)
        deadline = time.monotonic() + 30
        while any(count < _AGENTS for count in audience.ended) and time.monotonic() < deadline:
            time.sleep(0.05)
        told = [browser.ended, *audience.ended]
        print(
            f"  {_AGENTS} agents at 100 lines/s, {watchers} watching, {took:.0f} s: {used:.0%} of a core for all of it, "
            f"{memory(bench.host):.0f} MB ({grown:+.0f}), {browser.messages / took:,.0f} messages/s to each; "
            f"ends told: {min(told)} to {max(told)} of {_AGENTS}"
        )
        print(f"  from an agent's line to the browser: p50 {median(browser.ages):.0f} ms")
        budget("from an agent's line to the browser, p99", percentile(browser.ages, 0.99), 250, " ms")
        budget("processor", used, 1.0, " cores")
    finally:
        bench.close()
