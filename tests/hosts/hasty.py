"""`kumi`, with leases of seconds in place of half a minute and of two minutes: `python hasty.py up --port 9696`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

LEASE_SECONDS = 5.0


def shorten() -> None:
    from kumihimo.runner import following, patience, runner
    from kumihimo.services import instances
    from kumihimo.services.executions import Executions
    from kumihimo.services.hosts import Hosts
    from kumihimo.supervisor import presence, supervisor

    lease = timedelta(seconds=LEASE_SECONDS)
    presence.LEASE = lease
    presence.RENEW_SECONDS = supervisor.RENEW_SECONDS = LEASE_SECONDS / 3
    Hosts.renew = _with_lease(Hosts.renew, lease)  # type: ignore[method-assign]
    Hosts.extend = _with_lease(Hosts.extend, lease)  # type: ignore[method-assign]
    Executions.claim_some = _with_lease(Executions.claim_some, lease)  # type: ignore[method-assign]
    instances.PATIENCE = instances.LEASE = 4 * lease
    following.ALIVE_SECONDS = LEASE_SECONDS
    patience.FIRST_SECONDS = 1.0
    patience.MOST_SECONDS = LEASE_SECONDS
    runner._AWAY = (0.5, LEASE_SECONDS)


def _with_lease(method: Callable[..., Any], lease: timedelta) -> Callable[..., Any]:
    return lambda *args, **kwargs: method(*args, **{"lease": lease, **kwargs})


if __name__ == "__main__":
    from kumihimo.surfaces.cli.entry import main

    shorten()
    sys.exit(main())
