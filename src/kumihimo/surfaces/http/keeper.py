"""The keeper: the supervisor of this home, in a thread of the host process with a board of its own."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path

from kumihimo.app import open_board
from kumihimo.domain.errors import KumihimoError
from kumihimo.services.checkups import glance
from kumihimo.services.definitions import defined
from kumihimo.settings import Settings
from kumihimo.supervisor.supervisor import Supervisor
from kumihimo.supervisor.verifier import Verifier


class Keeper:
    def __init__(self, settings: Settings, url: str) -> None:
        self._settings = settings
        self._url = url
        self._supervisor: Supervisor | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def start(self) -> None:
        host = host_id(self._settings.state_folder)
        self._verifier = Verifier(self._settings, open_board(self._settings), host, _say)
        self._supervisor = Supervisor(
            self._settings,
            open_board(self._settings),
            host,
            socket.gethostname(),
            self._url,
            _say,
            self._verifier.expect,
        )
        self._thread = threading.Thread(target=self._run, args=(self._supervisor,), name="kumi-supervisor")
        self._thread.start()
        # Beside it: to look at what a run has left behind may take minutes.
        self._verifying = threading.Thread(target=self._run, args=(self._verifier,), name="kumi-verifier")
        self._verifying.start()
        # Beside it: to ask a program for its version may take seconds, and nobody waits for that.
        self._glance = threading.Thread(target=self._look_around, name="kumi-glance", daemon=True)
        self._glance.start()

    def close(self) -> None:
        if self._supervisor is not None and self._thread is not None:
            self._over.set()
            self._supervisor.stop()
            self._verifier.stop()
            self._thread.join()
            self._verifying.join()
            self._glance.join(timeout=1.0)

    def _look_around(self) -> None:
        """Which programs are there, and which versions of them. Costs no token."""
        board = open_board(self._settings)
        try:
            for agent, known in board.hosts.health():
                if self._over.is_set():
                    return
                found = glance(defined(agent, self._settings), known, self._settings, board.clock)
                if found is not None:
                    board.hosts.note_health(found)
        except (KumihimoError, OSError) as error:
            _say(f"the programs of the agents could not be looked at: {error}")
        finally:
            board.store.close()

    def _run(self, loop: Supervisor | Verifier) -> None:
        try:
            loop.run()
        except BaseException:
            _say(traceback.format_exc())
            # A host without a supervisor would let everybody wait for ever: the next who waits starts another.
            os.kill(os.getpid(), signal.SIGTERM)
            raise


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def host_id(folder: Path) -> str:
    """The name of this home among all that share its database: made once, and kept."""
    file = folder / "host"
    try:
        return file.read_text("ascii").strip()
    except FileNotFoundError:
        made = f"host_{secrets.token_hex(6)}"
        file.write_text(made + "\n", "ascii")
        return made
