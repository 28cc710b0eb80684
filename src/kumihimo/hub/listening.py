"""What a server says unasked comes by a stream of its own over HTTP, and that may be cut at any time: by a proxy that ends what
is idle, or by a server that is started anew. It is asked for again, and what was not heard meanwhile taken for said."""

from __future__ import annotations

from collections.abc import Callable

from kumihimo.hub.live import Live
from kumihimo.hub.timing import Timing
from kumihimo.wire.client.errors import ClientError
from kumihimo.wire.errors import RpcError

# One that is cut again at once is asked for more and more seldom.
LEAST_SECONDS = 1.0
MOST_SECONDS = 60.0
# One that was heard for so long was well.
STEADY_SECONDS = 10.0


async def hear_on(live: Live, timing: Timing, missed: Callable[[], None]) -> None:
    """Until this is cancelled, or the server turns out to have no such stream. `missed` is told when it is heard again."""
    heard, wait = False, LEAST_SECONDS
    while True:
        began = timing.now()
        if await _hear(live, missed if heard else _nothing):
            heard = True
        if not heard:
            # Its lists are asked for again when they are old.
            return
        wait = LEAST_SECONDS if timing.now() - began > STEADY_SECONDS else min(wait * 2, MOST_SECONDS)
        await timing.sleep(wait)


async def _hear(live: Live, begun: Callable[[], None]) -> bool:
    """One stream to its end. False where there was none."""
    announced, there = bool(live.announces), False

    def ready() -> None:
        nonlocal there
        there, live.hears = True, announced
        begun()

    try:
        await live.session.listen(on_ready=ready)
    except (ClientError, RpcError):
        # Whether the server is there at all is found by the next call.
        pass
    finally:
        live.hears = False
    return there


def _nothing() -> None:
    """At first nothing can have been missed."""
