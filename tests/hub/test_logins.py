"""Servers that want a login: refused with what to do where nobody is there, and let in after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kumihimo import Hub
from kumihimo.hub.configuration import Mistake, Options, server_of
from kumihimo.hub.logins import authorization_of
from tests.wire.client.authorization.auth_kit import Person, world
from tests.wire.client.client_kit import run


def test_a_server_that_wants_a_login_is_permission_denied_with_what_to_do_and_open_after_it(tmp_path: Path) -> None:
    environ = {"KUMI_HOME": str(tmp_path)}

    async def test() -> None:
        async with world() as w, Hub([{"name": "far", "url": w.url}], root=tmp_path, environ=environ) as hub:
            for _ in range(8):
                answer = await hub.execute_tool("far:any", {})
                assert answer.error is not None
                assert answer.error.code == "PERMISSION_DENIED"
                assert "`kumi hub login far`" in answer.error.message
            config = server_of({"name": "far", "url": w.url}, Options())
            oauth = authorization_of(config, environ, Person())
            assert oauth is not None
            await oauth.login()
            # The hub is another one: it finds the login at once.
            assert (await hub.execute_tool("far:any", {})).success
            (file,) = (tmp_path / "logins").glob("*.json")
            assert file.stat().st_mode & 0o777 == 0o600

    run(test())


def test_a_header_that_lets_us_in_needs_no_login_and_a_program_of_the_server_neither() -> None:
    for entry in ({"url": "https://a.example", "headers": {"AUTHORIZATION": "x"}}, {"command": "x"}, {"url": "ws://a"}):
        assert authorization_of(server_of({"name": "one", **entry}, Options()), {}) is None


@pytest.mark.parametrize(
    "auth",
    [
        {"grant": "client_credentials"},
        {"client_secret": "x"},
        {"redirect_port": 70000},
        {"grant": "password"},
        {"scope": "x"},
    ],
)
def test_a_login_that_can_not_work_is_a_mistake(auth: dict[str, object]) -> None:
    with pytest.raises(Mistake):
        server_of({"name": "one", "url": "https://a.example", "auth": auth}, Options())
    with pytest.raises(Mistake):
        server_of({"name": "one", "command": "x", "auth": {"client_id": "x"}}, Options())
