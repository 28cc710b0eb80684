"""The host process of this home: does it live and answer, what is left of one that was killed, and is its port free."""

from __future__ import annotations

import errno
import fcntl
import http.client
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from kumihimo.domain.finding import Finding
from kumihimo.engine.processes import tree
from kumihimo.services.diagnosis.examination import Examination
from kumihimo.services.hosting import FILE, LAST_PORT, LOCK, LOG, PORT, Running, find_running

_ANSWER_SECONDS = 3.0
_END_SECONDS = 10.0
# A process that has just begun has its lock before it says where it is.
_BEGIN_SECONDS = 1.0


def look_at_host(examination: Examination) -> list[Finding]:
    folder = examination.settings.state_folder
    running = find_running(folder)
    if running is not None:
        return [_up(examination, running)]
    return [_down(examination, folder), _port(examination, folder)]


def _up(examination: Examination, running: Running) -> Finding:
    pid = running.process.pid
    if _answers(running.url):
        return examination.ok("host", "host_up", url=running.url, pid=pid)
    if not examination.fix:
        return examination.warning("host", "host_silent", url=running.url, pid=pid)
    # What it runs goes on: the next one takes it over.
    for number in (signal.SIGTERM, signal.SIGKILL):
        tree.send([running.process], number)
        if _wait(lambda: not running.alive, _END_SECONDS):
            return examination.mended("host", "host_ended", pid=pid)
    return examination.warning("host", "host_silent", url=running.url, pid=pid)


def _answers(url: str) -> bool:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _down(examination: Examination, folder: Path) -> Finding:
    """Nobody is up, so nobody may hold the lock. It is held here while something is removed: a starter waits for no one."""
    if not (folder / LOCK).is_file():
        return examination.ok("host", "host_not_up")
    with (folder / LOCK).open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return _begins_or_hangs(examination, folder)
        return _left_behind(examination, folder / FILE)


def _begins_or_hangs(examination: Examination, folder: Path) -> Finding:
    if _wait(lambda: find_running(folder) is not None, _BEGIN_SECONDS):
        running = find_running(folder)
        if running is not None:
            return _up(examination, running)
    pid = _holder(folder / LOCK)
    return examination.warning("host", "host_locked", pid=pid, file=folder / LOCK, log=folder / LOG)


def _left_behind(examination: Examination, file: Path) -> Finding:
    try:
        pid: int | str = msgspec.json.decode(file.read_bytes(), type=Running).process.pid
    except FileNotFoundError:
        return examination.ok("host", "host_not_up")
    except msgspec.DecodeError:
        pid = "?"
    if not examination.fix:
        return examination.warning("host", "host_killed", file=file, pid=pid)
    file.unlink(missing_ok=True)
    return examination.mended("host", "host_tidied", file=file, pid=pid)


def _holder(lock: Path) -> str:
    """The process that has a file locked, as the kernel lists it."""
    inode = str(lock.stat().st_ino)
    try:
        lines = Path("/proc/locks").read_text("ascii").splitlines()
    except OSError:
        return "?"
    held = (line.split() for line in lines)
    return next((words[4] for words in held if "FLOCK" in words and words[5].rpartition(":")[2] == inode), "?")


def _port(examination: Examination, folder: Path) -> Finding:
    try:
        port = int((folder / LAST_PORT).read_text("ascii"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        port = PORT
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        # As the host process itself does: a connection that is just over keeps nobody away.
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return examination.warning("port", "port_taken", port=port)
            raise
    return examination.ok("port", "port_free", port=port)


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
