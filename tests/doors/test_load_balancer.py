"""Several doors behind one address: whoever is in front of them need not look at what is said."""

from __future__ import annotations

import http.client
import json
from typing import Any, Literal

import pytest

from kumihimo.surfaces.http.codes import Codes
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.handshake import Introduction
from kumihimo.wire.client.targets import Url
from kumihimo.wire.implementation import Implementation
from tests.doors.house import Entrance
from tests.doors.relay import Relay
from tests.hub.hub_kit import run

NAME = "kumi.example"


@pytest.fixture
def behind(doors: list[Entrance]) -> list[Entrance]:
    """Doors that may be called by a name that they share."""
    for door in doors:
        config = door.home.place / "config.toml"
        config.write_text(f'server.hosts = ["{NAME}"]\n' + config.read_text())
        door.restart()
        door.wait_until_known()
    return doors


def ask(relay: Relay, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """One request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=60)
    sent = {"host": f"{NAME}:{relay.port}", "content-type": "application/json", **headers}
    connection.request(method, path, None if body is None else json.dumps(body), sent)
    answer = connection.getresponse()
    found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    connection.close()
    return found


def test_a_browser_is_signed_in_at_every_door_behind_one_name(behind: list[Entrance]) -> None:
    with Relay([door.port for door in behind]) as relay:
        codes = [Codes(door.home.place).make() for door in behind]
        tries = [ask(relay, "GET", f"/login?code={code}") for code in (*codes, *codes)]
        cookie = next(headers["set-cookie"] for status, headers, _ in tries if status == 200).partition(";")[0]
        own = {"cookie": cookie, "origin": f"http://{NAME}:{relay.port}"}
        for _ in range(6):
            assert ask(relay, "GET", "/", **own)[0] == 200
            assert ask(relay, "POST", "/api/v1/board/status", {}, **own)[0] == 200
        assert ask(relay, "POST", "/api/v1/board/status", {}, **{**own, "origin": "http://evil.example"})[0] == 403
        assert min(relay.used[door.port] for door in behind) >= 6


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_a_client_of_mcp_works_through_any_load_balancer(
    doors: list[Entrance], era: Literal["handshake", "stateless"]
) -> None:
    async def talk(relay: Relay) -> None:
        url = f"http://127.0.0.1:{relay.port}/mcp/editor?project=project"
        # Each call on a connection of its own.
        target = Url(url=url, bearer=doors[0].token, idle_seconds=0.0)
        introduction = Introduction(Implementation("test", "1"), {}, 60.0)
        async with await connect(target, introduction, seconds=60.0, era=era) as session:
            for n in range(6):
                await session.call_tool("task_create", {"title": f"task {n}"})
                answer = await session.call_tool("task_list", {})
                assert f"task {n}" in str(answer)

    with Relay([door.port for door in doors]) as relay:
        run(talk(relay))
        assert min(relay.used[door.port] for door in doors) >= 6
