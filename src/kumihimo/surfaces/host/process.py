"""The host process of a home: one at a time, on the port it had before, known by a file that says where it is."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import gc
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from kumihimo.domain.errors import ConfigError
from kumihimo.engine.artifacts.address import on_this_machine
from kumihimo.engine.processes.identity import current
from kumihimo.services.artifacts import open_depot
from kumihimo.services.hosting import FILE, LAST_PORT, LOCK, PORT, Running, wait_for_other
from kumihimo.settings import ServerSection, Settings
from kumihimo.surfaces.garbage import settle
from kumihimo.surfaces.host.keeper import Keeper
from kumihimo.surfaces.http.access import owner_token
from kumihimo.surfaces.http.application import Application
from kumihimo.surfaces.mcp.door import Door
from kumihimo.wire.serving.listener import Connections, Listener

if TYPE_CHECKING:
    import ssl

_TRIES = 50
# How often it is looked whether the last run is over.
_LOOK_SECONDS = 0.2
_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - compared, not bound
# How long answers that are under way are waited for at the end.
_GRACE_SECONDS = 5.0


class Host:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._folder = settings.state_folder

    def run(self, address: str, port: int | None, on_listening: Callable[[Running], None]) -> None:
        """Serve until SIGTERM or SIGINT. ConfigError where another process of this home does, or no port is free."""
        import uvloop

        # Who has named a place for the files of runs that can't be used hears of it at once.
        open_depot(self._settings)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self._folder / LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found = wait_for_other(self._folder)
                raise ConfigError(str(self._folder), "already_up", url=found.url if found else "?") from None
            tls = _tls(self._settings.server)
            door = Door(self._settings)
            listener = self._listen(address, port)
            bound = listener.getsockname()[1]
            token = owner_token(self._settings.token_file)
            server = self._settings.server
            application = Application(door, token, (*_hosts(address), *server.hosts, *self._own_name()))
            url = self._url_for_agents(address, bound)
            keeper = Keeper(self._told_where(address, bound), url, application.broadcast.streams_grew)
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    announce = partial(self._announce, address, bound, on_listening)
                    keeper.start()
                    gc.collect()
                    settle()
                    drained = partial(_drained, keeper, self._settings.host.drain_seconds)
                    runner.run(_serve(application, listener, tls, announce, drained))
            finally:
                (self._folder / FILE).unlink(missing_ok=True)
                keeper.close()
                door.close()

    def _url_for_agents(self, address: str, port: int) -> str:
        """Where agents on this machine reach us. A certificate is for a name: they use that one."""
        server = self._settings.server
        named = server.hosts[0] if server.certificate is not None and server.hosts else _reachable(address)
        return f"{self._scheme}://{named}:{port}"

    def _told_where(self, address: str, port: int) -> Settings:
        """The settings, with where other hosts reach us: as the user says, or where we listen. Who is on this machine alone
        says so: nobody else asks its own 127.0.0.1 for us."""
        host, server = self._settings.host, self._settings.server
        if host.url is not None:
            return self._settings
        if address not in _EVERYWHERE and not _is_loopback(address):
            url = f"{self._scheme}://{_reachable(address)}:{port}"
        elif address in _EVERYWHERE and server.hosts:
            url = f"{self._scheme}://{server.hosts[0]}:{port}"
        else:
            url = on_this_machine(self._url_for_agents(address, port))
        return replace(self._settings, host=replace(host, url=url))

    def _own_name(self) -> tuple[str, ...]:
        """The name by which others call us, which the check of names is to admit."""
        url = self._settings.host.url
        name = urlsplit(url).hostname if url is not None else None
        return () if name is None else (f"[{name}]" if ":" in name else name,)

    @property
    def _scheme(self) -> str:
        return "http" if self._settings.server.certificate is None else "https"

    def _listen(self, address: str, port: int | None) -> socket.socket:
        """The port that was asked for, or else the last one, or 9696, or the next that is free."""
        wanted = (self._last_port(), *(PORT + step for step in range(_TRIES))) if port is None else (port,)
        for candidate in wanted:
            try:
                return _bind(address, candidate)
            except OSError as error:
                if error.errno == errno.EACCES:
                    raise ConfigError("--port", "bad_value", reason=f"{candidate}: {error.strerror}") from None
                if error.errno != errno.EADDRINUSE:
                    raise ConfigError("--host", "bad_value", reason=f"{address}: {error.strerror}") from None
        busy = f"no port from {PORT} to {PORT + _TRIES - 1} is free" if port is None else f"port {port} is taken"
        raise ConfigError("--port", "bad_value", reason=busy)

    def _last_port(self) -> int:
        try:
            return int((self._folder / LAST_PORT).read_text("ascii"))
        except (FileNotFoundError, ValueError):
            return PORT

    def _announce(self, address: str, port: int, on_listening: Callable[[Running], None]) -> None:
        shown = f"[{address}]" if ":" in address else address
        running = Running(f"{self._scheme}://{shown}:{port}", port, current())
        _write(self._folder / FILE, msgspec.json.encode(running))
        _write(self._folder / LAST_PORT, str(port).encode())
        on_listening(running)


async def _drained(keeper: Keeper, seconds: float, hurry: asyncio.Event) -> None:
    """Nothing new is begun, and what runs is waited for: agents need us to report. Not longer than that, nor than somebody who
    tells us a second time to end is patient."""
    if not seconds:
        return
    keeper.drain()
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not (keeper.idle or hurry.is_set()):
                with suppress(TimeoutError):
                    await asyncio.wait_for(hurry.wait(), _LOOK_SECONDS)


async def _serve(
    application: Application,
    listening: socket.socket,
    tls: ssl.SSLContext | None,
    announce: Callable[[], None],
    drained: Callable[[asyncio.Event], Awaitable[None]],
) -> None:
    """Serve until a signal comes and what is to be waited for is over; then streams end first, so that they hold nothing up.

    It is announced once it can be stopped: who hears of it may stop it at once.
    """
    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Task[None]] = []
    hurry, over = asyncio.Event(), asyncio.Event()
    listener = Listener(application, upgrade=partial(_watcher, application))

    async def stop() -> None:
        await drained(hurry)
        await application.close()
        over.set()

    def told() -> None:
        if stopping:
            hurry.set()
        else:
            stopping.append(loop.create_task(stop()))

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told)
    await listener.start(listening, tls)
    announce()
    await over.wait()
    await listener.close(_GRACE_SECONDS)


def _watcher(application: Application, connections: Connections) -> asyncio.Protocol:
    """What a connection becomes that wants to be a WebSocket."""
    # Here, and not above: a home is up sooner without what only those who watch need.
    from kumihimo.surfaces.live.socket import LiveSocket

    return LiveSocket(application.broadcast, application.admit_watcher, connections)


def _tls(server: ServerSection) -> ssl.SSLContext | None:
    if server.certificate is None:
        return None
    import ssl

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(_path(server.certificate) or "", _path(server.key))
    except OSError as error:
        raise ConfigError("[server]", "bad_setting", reason=f"{server.certificate}: {error}") from None
    return context


def _path(file: str | None) -> str | None:
    return None if file is None else str(Path(file).expanduser())


def _reachable(address: str) -> str:
    """Where a process on this machine reaches us."""
    if address in _EVERYWHERE:
        return "127.0.0.1"
    return f"[{address}]" if ":" in address else address


def _hosts(address: str) -> tuple[str, ...]:
    """What it is called by who reaches it there."""
    if _is_loopback(address):
        return ()
    return (f"[{address}]" if ":" in address else address,)


def _is_loopback(address: str) -> bool:
    return address in ("127.0.0.1", "::1", "localhost")


def _bind(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
    except BaseException:
        listener.close()
        raise
    listener.listen(512)
    return listener


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, for whoever reads at the same time."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.chmod(0o600)
    fresh.replace(path)
