"""The keeper: the supervisor of this home, in a thread of the host process with a board of its own."""

from __future__ import annotations

import os
import signal
import socket
import threading
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from kumihimo import __version__
from kumihimo.app import open_board
from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.host import Awaited, HostNews
from kumihimo.engine.processes.secrets import secrets_in
from kumihimo.services.artifacts import open_depot
from kumihimo.services.checkups import glance
from kumihimo.services.definitions import defined
from kumihimo.services.host_name import host_id
from kumihimo.services.upkeep import fold
from kumihimo.settings import Settings
from kumihimo.supervisor.ears import Ears
from kumihimo.supervisor.places import PlaceMaker
from kumihimo.supervisor.supervisor import Supervisor
from kumihimo.supervisor.verifier import Verifier
from kumihimo.surfaces.host.followers import Followers
from kumihimo.surfaces.host.journal import Journal

if TYPE_CHECKING:
    from kumihimo.services.depositing import Depositor

_DAY_SECONDS = 24 * 3600.0


class Keeper:
    def __init__(self, settings: Settings, url: str, streams_grew: Callable[[], None] = lambda: None) -> None:
        self._settings = settings
        self._url = url
        self._streams_grew = streams_grew
        self._supervisor: Supervisor | None = None
        self._thread: threading.Thread | None = None
        self._over = threading.Event()
        self._places: PlaceMaker | None = None
        self._placing: threading.Thread | None = None
        self._depositor: Depositor | None = None
        self._depositing: threading.Thread | None = None
        self._journal = Journal(settings.log, secrets=secrets_in(os.environ))
        self._hearing = ExitStack()
        self._followers = Followers(settings, url, host_id(settings.state_folder), self._journal)

    def start(self) -> None:
        self._hearing.enter_context(self._journal.hears_everything())
        host = host_id(self._settings.state_folder)
        self._verifier = Verifier(self._settings, open_board(self._settings), host, self._journal.say)
        self._supervisor = Supervisor(
            self._settings,
            open_board(self._settings),
            host,
            self._settings.host.name or socket.gethostname(),
            self._url,
            Ears(self._journal.say, self._verifier.expect, self._streams_grew, self._rung, self._awaited),
        )
        self._thread = threading.Thread(target=self._run, args=(self._supervisor,), name="kumi-supervisor")
        self._thread.start()
        # Beside it: to look at what a run has left behind may take minutes.
        self._verifying = threading.Thread(target=self._run, args=(self._verifier,), name="kumi-verifier")
        self._verifying.start()
        # Beside it: to ask a program for its version may take seconds, and nobody waits for that.
        self._glance = threading.Thread(target=self._look_around, name="kumi-glance", daemon=True)
        self._glance.start()
        self._followers.start()
        self._start_depositing()

    def drain(self) -> None:
        """Begin nothing more."""
        if self._supervisor is not None:
            self._supervisor.drain()

    @property
    def idle(self) -> bool:
        """Whether no run is under way here."""
        return self._supervisor is None or self._supervisor.idle

    def close(self) -> None:
        if self._supervisor is not None and self._thread is not None:
            self._over.set()
            self._followers.close()
            self._supervisor.stop()
            self._verifier.stop()
            self._thread.join()
            self._verifying.join()
            if self._places is not None and self._placing is not None:
                self._places.stop()
                self._placing.join()
            if self._depositor is not None and self._depositing is not None:
                self._depositor.stop()
                self._depositing.join()
            self._glance.join(timeout=5.0)
            self._hearing.close()

    def _start_depositing(self) -> None:
        """Beside everything else: to put what a run has written somewhere else takes as long as that is away."""
        depot = open_depot(self._settings)
        if depot is not None:
            from kumihimo.services.depositing import Depositor

            self._depositor = Depositor(self._settings, open_board(self._settings), depot, self._journal.say)
            self._depositing = threading.Thread(target=self._run, args=(self._depositor,), name="kumi-deposits")
            self._depositing.start()

    def _rung(self, wanted: bool) -> None:
        self._verifier.stir()
        if wanted:
            self._make_places()

    def _awaited(self, awaited: Awaited) -> None:
        if awaited.traces:
            self._verifier.look_soon()
        if awaited.places:
            self._make_places()

    def _make_places(self) -> None:
        """Somebody on another host may want a worker here, or one that is to follow another waits. Most homes never need
        this."""
        if self._places is None and not self._over.is_set():
            host = host_id(self._settings.state_folder)
            self._places = PlaceMaker(self._settings, open_board(self._settings), host, self._journal.say)
            self._placing = threading.Thread(target=self._run, args=(self._places,), name="kumi-places")
            self._placing.start()
        elif self._places is not None:
            self._places.wake()

    def _look_around(self) -> None:
        """Say that we are up; then: which programs are there, and which versions of them? Costs no token."""
        board = open_board(self._settings)
        try:
            news = HostNews(
                host_id(self._settings.state_folder),
                self._settings.host.name or socket.gethostname(),
                self._url,
                __version__,
            )
            board.hosts.tell_of_start(news)
            for agent, known in board.hosts.health():
                if self._over.is_set():
                    return
                found = glance(defined(agent, self._settings), known, self._settings, board.clock)
                if found is not None:
                    board.hosts.note_health(found)
        except (KumihimoError, OSError) as error:
            self._journal.say(f"the programs of the agents could not be looked at: {error}")
        finally:
            board.store.close()
        self._tidy_up()

    def _tidy_up(self) -> None:
        """Once a day: events that newer ones have overtaken, and that are older than they need be."""
        while not self._over.is_set():
            try:
                board = open_board(self._settings)
                try:
                    fold(board, self._settings.retention.events_days)
                finally:
                    board.store.close()
            except KumihimoError as error:
                self._journal.say(f"old events could not be folded away: {error}")
            self._over.wait(_DAY_SECONDS)

    def _run(self, loop: Supervisor | Verifier | PlaceMaker | Depositor) -> None:
        try:
            loop.run()
        except BaseException:
            self._journal.note("error", "broken", traceback.format_exc())
            # A host without a supervisor would let everybody wait for ever: the next who waits starts another.
            os.kill(os.getpid(), signal.SIGTERM)
            raise
