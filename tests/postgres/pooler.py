"""A real PgBouncer in front of the PostgreSQL of a test."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from tests.lead.shop import free_port, until
from tests.postgres.line import name_of, socket_of

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
needs_pooler = pytest.mark.skipif(
    PROGRAM is None, reason="PgBouncer is not installed: `apt-get install --no-install-recommends pgbouncer`"
)


class Pooler:
    """Everybody gets a connection to the server for one transaction at a time."""

    def __init__(self, folder: Path, server: str, users: tuple[str, ...] = ("postgres",), **settings: object) -> None:
        self.port = free_port()
        self._place = Path(socket_of(server)).parent
        self._folder = folder
        known = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "trust",
            "auth_file": folder / "users.txt",
            "pool_mode": "transaction",
            "default_pool_size": 2,
            "logfile": folder / "pgbouncer.log",
            **settings,
        }
        lines = [f"{name} = {value}" for name, value in known.items()]
        (folder / "users.txt").write_text("".join(f'"{user}" ""\n' for user in users))
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={self._place} port=5432\n[pgbouncer]\n" + "\n".join(lines) + "\n"
        )
        self._let_in(folder)
        self.start()

    def url(self, database: str, user: str = "postgres", more: str = "") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{name_of(database)}?gssencmode=disable{more}"

    def start(self) -> None:
        assert PROGRAM is not None
        self._process = subprocess.Popen(
            [PROGRAM, str(self._folder / "pgbouncer.ini")],
            # It does not run as root: it runs as whoever may use the socket of the server.
            user=self._place.stat().st_uid if os.geteuid() == 0 else None,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(self._answers)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
        if self._process.poll() is None:
            self.kill()

    def _answers(self) -> bool:
        assert self._process.poll() is None, (self._folder / "pgbouncer.log").read_text()
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError as error:
            # It speaks: with whom and how is for the test to see.
            return "refused" not in str(error)
        return True

    def _let_in(self, folder: Path) -> None:
        if os.geteuid() == 0:
            owner = self._place.stat()
            for path in (folder, *folder.iterdir()):
                os.chown(path, owner.st_uid, owner.st_gid)
            for above in folder.parents:
                if above.stat().st_uid == 0 and above.stat().st_mode & 0o001 == 0:
                    above.chmod(above.stat().st_mode | 0o011)
