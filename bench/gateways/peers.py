"""The gateways that are measured, each with a server of its own behind it, and that server by itself."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import exchanges
from driving.installing import from_npm, from_pypi, node
from driving.serving import KUMI, clean_environment, free_port, kumi, running
from exchanges import Exchange
from http_calls import Gateway

HERE = Path(__file__).resolve().parent
EVERYTHING_VERSION = "2026.8.31"
FASTMCP_VERSION = "4.1.2"
MCP_PROXY_VERSION = "0.13.0"
MCP_HUB_VERSION = "4.2.1"
MCP_PROXY_JS_VERSION = "6.7.19"
SUPERGATEWAY_VERSION = "4.0.0"
_READY_SECONDS = 30.0


class Town(NamedTuple):
    """Where everything of a run lies, and what the processes see."""

    folder: Path
    environment: dict[str, str]

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


class Peer(NamedTuple):
    gateway: Gateway
    calls: list[Exchange]


def make_town(folder: Path) -> Town:
    """A home of its own for everyone: mcp-hub, for one, keeps what it knows there."""
    home = folder / "home"
    home.mkdir()
    return Town(folder, {**clean_environment(home / "kumi"), "HOME": str(home)})


def everything(*words: str) -> list[str] | None:
    """The command of server-everything. None, and a word about it, where there is no Node."""
    program = node()
    if program is None:
        print("  no Node here: server-everything and all gateways to it are left out")
        return None
    package = "@modelcontextprotocol/server-everything"
    home = from_npm(f"everything-{EVERYTHING_VERSION}", f"{package}@{EVERYTHING_VERSION}")
    return [program, str(home / "node_modules" / package / "dist" / "index.js"), *words]


@contextlib.contextmanager
def everything_over_http(town: Town) -> Generator[Peer, None, None]:
    command = everything("streamableHttp")
    assert command is not None, "asked before"
    port = free_port()
    with running(command, port, {**town.environment, "PORT": str(port)}, town.folder, town.log("everything")) as pid:
        gateway = Gateway(port, "/mcp", pid)
        gateway.open_session()
        yield Peer(gateway, exchanges.plain())


@contextlib.contextmanager
def our_host(town: Town, servers: list[dict[str, Any]]) -> Generator[OurHost, None, None]:
    """`kumi up` in a project with these servers."""
    project = town.folder / "project"
    project.mkdir()
    kumi(["init", str(project)], town.environment, project)
    # JSON is YAML too.
    (project / "mcp.config.yaml").write_text(json.dumps({"servers": servers}))
    port = free_port()
    with running([KUMI, "up", "--port", str(port)], port, town.environment, project, town.log("kumi")) as pid:
        status = json.loads(kumi(["status", "--json"], town.environment, project))
        yield OurHost(port, pid, Path(status["tokenFile"]).read_text("ascii").strip())


class OurHost(NamedTuple):
    port: int
    pid: int
    token: str

    def at(self, path: str) -> Gateway:
        gateway = Gateway(self.port, path, self.pid, self.token)
        gateway.open_session()
        return gateway

    def by_hub_call(self, server: str) -> Peer:
        return Peer(self.at("/mcp/hub"), exchanges.through_hub_call(server))

    def exposed(self, server: str) -> Peer:
        return Peer(self.at("/mcp/hub?expose=all"), exchanges.exposed(server))


@contextlib.contextmanager
def bare(town: Town, backend: list[str]) -> Generator[Peer, None, None]:
    port = free_port()
    command = [sys.executable, str(HERE / "bare.py"), str(port), *backend]
    with running(command, port, town.environment, town.folder, town.log("bare")) as pid:
        yield _speaking(Gateway(port, "/mcp", pid))


@contextlib.contextmanager
def fastmcp(town: Town, target: str) -> Generator[Peer, None, None]:
    """`target` is a URL, or JSON as in `mcpServers`."""
    programs = from_pypi(f"fastmcp-{FASTMCP_VERSION}", f"fastmcp=={FASTMCP_VERSION}")
    port = free_port()
    command = [str(programs / "python"), str(HERE / "fastmcp_proxy.py"), str(port), target]
    with running(command, port, town.environment, town.folder, town.log(f"fastmcp-{port}")) as pid:
        yield _speaking(Gateway(port, "/mcp", pid))


@contextlib.contextmanager
def mcp_proxy(town: Town, backend: list[str]) -> Generator[Peer, None, None]:
    programs = from_pypi(f"mcp-proxy-{MCP_PROXY_VERSION}", f"mcp-proxy=={MCP_PROXY_VERSION}")
    port = free_port()
    command = [str(programs / "mcp-proxy"), "--port", str(port), "--log-level", "ERROR", "--", *backend]
    with running(command, port, town.environment, town.folder, town.log("mcp-proxy")) as pid:
        yield _speaking(Gateway(port, "/mcp", pid))


@contextlib.contextmanager
def mcp_hub(town: Town, backend: list[str]) -> Generator[Peer, None, None]:
    """By its REST route: its own MCP endpoint wants a stream of events that stays open."""
    program = node()
    assert program is not None, "asked before"
    home = from_npm(f"mcp-hub-{MCP_HUB_VERSION}", f"mcp-hub@{MCP_HUB_VERSION}")
    config = town.folder / "mcp-hub.json"
    config.write_text(json.dumps(as_mcp_servers(backend)))
    _know_the_marketplace(Path(town.environment["HOME"]))
    port = free_port()
    script = home / "node_modules" / "mcp-hub" / "dist" / "cli.js"
    command = [program, str(script), "--port", str(port), "--config", str(config)]
    with running(command, port, town.environment, town.folder, town.log("mcp-hub")) as pid:
        peer = Peer(Gateway(port, "/api/servers/tools", pid), exchanges.by_rest("everything"))
        _wait_until_ready(peer)
        yield peer


@contextlib.contextmanager
def mcp_proxy_js(town: Town, backend: list[str]) -> Generator[Peer, None, None]:
    """npm's package of that name, which has nothing to do with the other one."""
    port = free_port()
    words = ["--port", str(port), "--host", "127.0.0.1", "--server", "stream", "--", *backend]
    with _of_npm(town, "mcp-proxy", MCP_PROXY_JS_VERSION, port, words) as peer:
        yield peer


@contextlib.contextmanager
def supergateway(town: Town, backend: list[str]) -> Generator[Peer, None, None]:
    port = free_port()
    words = ["--stdio", shlex.join(backend), "--outputTransport", "streamableHttp", "--stateful", "--port", str(port)]
    with _of_npm(town, "supergateway", SUPERGATEWAY_VERSION, port, [*words, "--logLevel", "none"]) as peer:
        yield peer


@contextlib.contextmanager
def _of_npm(town: Town, name: str, version: str, port: int, words: list[str]) -> Generator[Peer, None, None]:
    program = node()
    assert program is not None, "asked before"
    home = from_npm(f"npm-{name}-{version}", f"{name}@{version}")
    command = [program, str((home / "node_modules" / ".bin" / name).resolve()), *words]
    with running(command, port, town.environment, town.folder, town.log(f"npm-{name}")) as pid:
        yield _speaking(Gateway(port, "/mcp", pid))


def as_mcp_servers(backend: list[str]) -> dict[str, Any]:
    return {"mcpServers": {"everything": {"command": backend[0], "args": backend[1:]}}}


def _speaking(gateway: Gateway) -> Peer:
    gateway.open_session()
    return Peer(gateway, exchanges.plain())


def _wait_until_ready(peer: Peer) -> None:
    """It listens before it has its servers."""
    deadline = time.monotonic() + _READY_SECONDS
    while True:
        try:
            peer.gateway.ask(peer.calls[0].message)
            return
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _know_the_marketplace(home: Path) -> None:
    """So that mcp-hub, which asks for it when it starts, asks nobody."""
    cache = home / ".mcp-hub" / "cache"
    cache.mkdir(parents=True)
    known = {"version": "1", "generatedAt": 0, "totalServers": 1, "servers": [{"id": "none"}]}
    kept = {"registry": known, "lastFetchedAt": int(time.time() * 1000), "serverDocumentation": {}}
    (cache / "registry.json").write_text(json.dumps(kept))
