"""`kumi hub login`: a server that wants to know who we are, and a browser that comes back."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Kumi
from tests.wire.client.authorization.auth_kit import world


@pytest.fixture
def server() -> Iterator[str]:
    """The address of a server behind a login, served from a thread of its own."""
    loop = asyncio.new_event_loop()
    url: list[str] = []
    ready, over = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with world() as made:
            url.append(made.url)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert ready.wait(30)
    yield url[0]
    loop.call_soon_threadsafe(over.set)
    thread.join(30)
    loop.close()


def test_who_has_logged_in_is_let_in_until_the_login_is_forgotten(
    kumi: Kumi, home: Path, tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[threading.Thread] = []

    def browse(url: str) -> bool:
        """A browser that the person has already logged in with: it follows where it is sent."""
        opened.append(threading.Thread(target=lambda: urllib.request.urlopen(url, timeout=30).read()))
        opened[-1].start()
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    assert kumi("hub", "add", "far", "--url", server).code == 0
    refused = kumi("hub", "call", "far:any")
    assert refused.code == 1
    assert "`kumi hub login far`" in refused.err
    done = kumi("hub", "login", "far")
    opened[0].join(30)
    assert (done.code, len(opened)) == (0, 1)
    assert "http://" in done.err
    assert kumi("hub", "call", "far:any").code == 0
    (file,) = (home / "logins").glob("*.json")
    secret = next(value for key, value in _flat(json.loads(file.read_text())) if "token" in key)
    assert secret not in done.out + done.err
    assert kumi("hub", "logout", "far").code == 0
    assert kumi("hub", "call", "far:any").code == 1


def _flat(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, str(name))
    elif isinstance(value, str):
        yield key, value


def test_a_server_that_needs_no_login_and_one_that_is_not_there_are_told(kumi: Kumi, tmp_path: Path) -> None:
    assert kumi("hub", "add", "here", "--", "true").code == 0
    for verb in ("login", "logout"):
        assert kumi("hub", verb, "here").code == 1
        assert kumi("hub", verb, "nobody").code == 5


def test_the_servers_of_a_project_that_was_named_are_meant(
    kumi: Kumi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kumi("init").code == 0
    assert kumi("hub", "add", "here", "--", "true").code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for verb in ("login", "logout"):
        # It is there, and needs no login.
        assert kumi("--project", "shop", "hub", verb, "here").code == 1
    assert tmp_path.is_dir()
