"""The parts of a Runner, put together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta

from kumihimo.engine.processes.nursery import Nursery
from kumihimo.runner.clock import Clock, SystemClock
from kumihimo.runner.crew import Crew
from kumihimo.runner.desk import Desk
from kumihimo.runner.following import Following
from kumihimo.runner.lock import held
from kumihimo.runner.mail import Mail
from kumihimo.runner.outbox import Outbox
from kumihimo.runner.patience import Patience
from kumihimo.runner.records import Records
from kumihimo.runner.runner import Runner
from kumihimo.runner.starter import Starter
from kumihimo.runner.told import Tell
from kumihimo.runner.where import Locate
from kumihimo.settings import Settings


@contextmanager
def assembled(
    settings: Settings,
    server: str,
    locate: Locate,
    passkeys: Mapping[str, str],
    tell: Tell,
    clock: Clock | None = None,
) -> Generator[Runner]:
    """A Runner of this home for one server; `server` is by what its instances are known to be of it.

    Inside an event loop. AlreadyRunning where there is one.
    """
    folder = settings.state_folder / "runner"
    clock = clock or SystemClock()
    with held(folder / f"{hashlib.sha256(server.encode()).hexdigest()[:12]}.lock"):
        desk = Desk(locate)
        records = Records(folder / "instances", server)
        mail = Mail(desk, Outbox(folder / "outbox", server), records, clock, tell)
        crew = Crew(passkeys, Patience(folder / "patience.json"), clock, tell)
        most = settings.runner.max_concurrent or settings.max_concurrent
        silence = timedelta(milliseconds=settings.silence_timeout_ms)
        following = Following(desk, mail, crew, clock, tell, most=most, silence=silence)
        starter = Starter(settings, records, Nursery(1))
        try:
            yield Runner(desk, starter, records, mail, following, crew, tell, clock, _new_id)
        finally:
            starter.close()


def _new_id() -> str:
    return f"ins_{os.urandom(10).hex()}"
