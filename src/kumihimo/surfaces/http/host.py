"""The host process of a home: one at a time, on the port it had before, known by a file that says where it is."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from kumihimo.domain.errors import ConfigError
from kumihimo.engine.processes.identity import current
from kumihimo.services.hosting import FILE, Running, find_running
from kumihimo.settings import Settings
from kumihimo.surfaces.http.access import owner_token
from kumihimo.surfaces.http.application import Application
from kumihimo.surfaces.http.keeper import Keeper
from kumihimo.surfaces.mcp.door import Door

PORT = 9696
_TRIES = 50
# How many new things there may be before it is looked whether some of them are garbage.
_GARBAGE = 20_000


class Host:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._folder = settings.state_folder

    def run(self, address: str, port: int | None, on_listening: Callable[[str], None]) -> None:
        """Serve until SIGTERM or SIGINT. ConfigError where another process of this home does, or no port is free."""
        import asyncio

        import uvicorn
        import uvloop

        from kumihimo.surfaces.http.corking import CorkedProtocol

        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self._folder / "up.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                found = find_running(self._folder)
                raise ConfigError(str(self._folder), "already_up", url=found.url if found else "?") from None
            door = Door(self._settings)
            listener = self._listen(address, port)
            bound = listener.getsockname()[1]
            token = owner_token(self._settings.token_file)
            application = Application(door, token, _hosts(address))
            keeper = Keeper(self._settings, f"http://{_reachable(address)}:{bound}")
            config = uvicorn.Config(
                application, loop="uvloop", http=CorkedProtocol, lifespan="on", log_config=None, access_log=False,
                server_header=False, date_header=False, proxy_headers=False, ws="none",
                timeout_graceful_shutdown=5,
            )  # fmt: skip
            try:
                with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                    announce = partial(self._announce, address, bound, on_listening)
                    keeper.start()
                    _settle()
                    runner.run(_serve(_patient(uvicorn.Server(config)), application, listener, announce))
            finally:
                (self._folder / FILE).unlink(missing_ok=True)
                keeper.close()
                door.close()

    def _listen(self, address: str, port: int | None) -> socket.socket:
        """The port that was asked for, or else the last one, or 9696, or the next that is free."""
        if port is not None:
            return _bind(address, port)
        last = self._last_port()
        for candidate in (last, *(PORT + step for step in range(_TRIES))):
            try:
                return _bind(address, candidate)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise ConfigError("--host", "bad_setting", reason=f"{address}: {error.strerror}") from None
        raise ConfigError("--port", "bad_setting", reason=f"no port from {PORT} to {PORT + _TRIES - 1} is free")

    def _last_port(self) -> int:
        try:
            return int((self._folder / "port").read_text("ascii"))
        except (FileNotFoundError, ValueError):
            return PORT

    def _announce(self, address: str, port: int, on_listening: Callable[[str], None]) -> None:
        shown = f"[{address}]" if ":" in address else address
        running = Running(f"http://{shown}:{port}", port, current())
        _write(self._folder / FILE, msgspec.json.encode(running))
        _write(self._folder / "port", str(port).encode())
        on_listening(running.url)


async def _serve(server: Any, application: Application, listener: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until a signal comes; then streams end first, so that they hold nothing up.

    It is announced once it can be stopped: who hears of it may stop it at once.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    stopping: list[asyncio.Task[None]] = []

    async def stop() -> None:
        await application.close()
        server.should_exit = True
        server.over.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, lambda: stopping.append(loop.create_task(stop())))
    # It would catch the signals itself, and raise them once more when it is done.
    server.capture_signals = nullcontext
    announce()
    await server.serve(sockets=[listener])


def _settle() -> None:
    """What is there by now stays until the end: to look through it for garbage, again and again, is a tenth of a call."""
    import gc

    gc.collect()
    gc.freeze()
    gc.set_threshold(_GARBAGE, 20, 20)


def _patient(server: Any) -> Any:
    """It looks ten times a second whether it should end: this one is told, and does nothing while nothing happens."""
    import asyncio

    server.over = asyncio.Event()
    server.main_loop = server.over.wait
    return server


def _reachable(address: str) -> str:
    """Where a process on this machine reaches us."""
    if address in ("0.0.0.0", "::", ""):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{address}]" if ":" in address else address


def _hosts(address: str) -> tuple[str, ...]:
    return () if address in ("127.0.0.1", "::1", "localhost") else (address,)


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
