"""Requests from elsewhere: a page of another site, of another port, a name that was bound to this machine."""

from __future__ import annotations

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from kumihimo.domain.token import Token
from kumihimo.services.wish import Wish
from tests.locks.browser import Browser
from tests.mcp.http_door import HttpDoor

ELSEWHERE = ("https://evil.example", "null", "http://127.0.0.1:1", "http://localhost:1")


def refused_socket(door: HttpDoor, path: str = "/ws", **headers: str) -> int:
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(f"ws://127.0.0.1:{door.running.port}{path}", additional_headers=headers),
    ):
        pass
    return refused.value.response.status_code


@pytest.mark.parametrize("origin", ELSEWHERE)
def test_a_page_from_elsewhere_can_not_use_the_cookie(browser: Browser, origin: str) -> None:
    assert browser.post("/api/v1/task/create?project=alpha", {"title": "x"}, origin=origin).status == 403
    listed = browser.post("/api/v1/task/list?project=alpha")
    assert '"tasks":[]' in listed.body


@pytest.mark.parametrize("origin", ELSEWHERE)
def test_a_page_from_elsewhere_can_not_watch(browser: Browser, door: HttpDoor, origin: str) -> None:
    assert browser.cookie is not None
    assert refused_socket(door, cookie=browser.cookie, origin=origin) == 403


def test_the_page_itself_may_watch(browser: Browser, door: HttpDoor) -> None:
    assert browser.cookie is not None
    headers = {"cookie": browser.cookie, "origin": browser.origin}
    with connect(f"ws://127.0.0.1:{door.running.port}/ws", additional_headers=headers) as socket:
        assert '"snapshot"' in str(socket.recv(timeout=30))


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_fetches_for_another_page_gets_nothing(browser: Browser, site: str) -> None:
    assert browser.get("/openapi.json", **{"sec-fetch-site": site}).status == 403
    assert browser.get("/openapi.json", **{"sec-fetch-site": "same-origin"}).status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/login?code=x",
        "/api/v1/task/list",
        "/mcp",
        "/metrics",
        "/healthz",
        "/ws",
        "/artifacts/exec_1/out",
        "/nowhere",
    ],
)
def test_a_name_that_was_bound_to_this_machine_is_refused_everywhere(browser: Browser, path: str) -> None:
    method = browser.post if path.startswith(("/api", "/mcp")) else browser.get
    assert method(path, host="evil.example").status == 403


def test_a_socket_under_a_foreign_name_or_without_a_token_is_refused(door: HttpDoor) -> None:
    bearer = f"Bearer {door.owner}"
    assert refused_socket(door, authorization=bearer, origin="https://evil.example") == 403
    assert refused_socket(door) == 401
    assert refused_socket(door, authorization="Bearer wrong") == 401
    assert refused_socket(door, "/elsewhere", authorization=bearer) == 404


def test_the_tokens_of_agents_and_runners_open_neither_page_nor_socket_nor_api(door: HttpDoor) -> None:
    board, agent, project = door.town.board, door.town.dev.agent, door.town.alpha.id
    run = board.executions.enqueue(Wish(agent, "session", project_id=project))
    assert run is not None
    for token in (Token("runner"), Token("instance", agent.id, project), Token("run", agent.id, project, run.id)):
        secret = board.tokens.issue(token)
        assert refused_socket(door, authorization=f"Bearer {secret}") == 403
        assert door.ask("POST", "/api/v1/board/status", secret, {}).status == 403
        assert door.ask("GET", "/metrics", secret).status == 403
        assert door.ask("GET", "/", secret).status == 401
