"""The host process from the terminal: it comes up, says where it is, and goes down."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kumihimo.services.hosting import bury
from tests.cli.conftest import Kumi

PROGRAM = [sys.executable, "-m", "kumihimo"]


def test_what_was_up_or_down_already_is_json_where_json_is_asked_for(kumi: Kumi, home: Path) -> None:
    first = kumi("up", "--detach", "--port", 0, "--json")
    assert first.code == 0, first.err
    assert set(first.json) == {"url", "pid", "tokenFile"}
    assert kumi("up", "--detach", "--json").json == first.json
    assert kumi("up", "--json").json == first.json
    assert kumi("down", "--json").json["stopped"] is True
    bury(home)
    assert kumi("down", "--json").json["stopped"] is False


@pytest.mark.parametrize("words", [("up",), ("up", "--detach")])
def test_a_port_that_is_taken_is_named_and_not_called_a_mistake_of_ours(
    kumi: Kumi, home: Path, words: tuple[str, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        ended = kumi(*words, "--port", port)
    bury(home)
    assert ended.code in (1, 3)
    assert f"port {port} is taken" in ended.err
    assert "Kumihimo itself" not in ended.err


def test_an_address_that_is_none_of_ours_is_named(kumi: Kumi, home: Path) -> None:
    ended = kumi("up", "--host", "192.0.2.1", "--insecure", "--port", 0)
    assert ended.code == 3
    assert "192.0.2.1" in ended.err
    assert not (home / "up.json").exists()


def test_who_comes_up_in_the_foreground_says_where_in_json_where_that_is_asked_for(kumi: Kumi, home: Path) -> None:
    host = subprocess.Popen([*PROGRAM, "up", "--port", "0", "--json"], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    with host:
        line = host.stdout.readline()
        assert f'"pid":{host.pid}' in line
        assert kumi("down", "--json").json["stopped"] is True


def test_of_several_that_come_up_at_once_one_does_and_the_others_say_where(kumi: Kumi, home: Path) -> None:
    assert kumi("status").code == 0
    words = [*PROGRAM, "up", "--port", "0", "--json"]
    with contextlib.ExitStack() as stack:
        starting = [stack.enter_context(subprocess.Popen(words, stdout=subprocess.PIPE, text=True)) for _ in range(3)]
        told = [json.loads(one.stdout.readline()) for one in starting if one.stdout is not None]
        assert [it["url"] for it in told] == [told[0]["url"]] * 3
        assert told[0]["pid"] in {one.pid for one in starting}
        assert kumi("down", "--json").json["stopped"] is True
        assert [one.wait() for one in starting] == [0, 0, 0]
    assert not (home / "up.json").exists()
