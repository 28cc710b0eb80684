"""A server that can't be reached is told by what is wrong with it, not by a number of the system."""

from __future__ import annotations

import errno
import os
import signal
import socket
from dataclasses import dataclass

import pytest

from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.client.process import start
from kumihimo.wire.client.refusals import why_not_connected
from kumihimo.wire.client.targets import Command, Url
from tests.wire.client.client_kit import US, run


def _closed_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.mark.parametrize("scheme", ["http", "ws"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_where_nobody_listens_it_is_said_so(scheme: str, host: str) -> None:
    url = f"{scheme}://{host}:{_closed_port()}/mcp"

    async def reach() -> None:
        with pytest.raises(ConnectionFailed) as told:
            await connect(Url(url=url), US)
        assert str(told.value) == f"nobody listens at {url}; is it running?"

    run(reach())


def test_a_refusal_by_each_of_several_addresses_is_one() -> None:
    one = "[Errno {0}] Connect call failed "
    both = f"Multiple exceptions: {one}('::1', 9, 0, 0), {one}('127.0.0.1', 9)"
    assert why_not_connected(OSError(both.format(errno.ECONNREFUSED)), "x") == "nobody listens at x; is it running?"
    assert why_not_connected(OSError(both.format(errno.EHOSTUNREACH)), "x").startswith("x: Multiple exceptions")


def test_a_host_that_nobody_knows_is_told_as_one() -> None:
    async def reach() -> None:
        with pytest.raises(ConnectionFailed, match=r"^http://nobody\.invalid/mcp: no such host is known \(.+\)$"):
            await connect(Url(url="http://nobody.invalid/mcp"), US)

    run(reach())


@dataclass
class Death:
    number: int
    told: str


@pytest.mark.parametrize(
    "death", [Death(signal.SIGKILL, "SIGKILL"), Death(signal.SIGRTMIN + 3, f"signal {signal.SIGRTMIN + 3}")], ids=str
)
def test_a_server_that_was_killed_tells_by_which_signal(death: Death) -> None:
    async def kill() -> None:
        server = await start(Command(argv=("sleep", "60"), environment=dict(os.environ)))
        os.kill(server.pid, death.number)
        await server.ended()
        assert server.ending() == f"it was killed by {death.told}"
        await server.end()
        for pipe in (server.stdin, server.stdout, server.stderr):
            if pipe is not None:
                pipe.close()

    run(kill())
