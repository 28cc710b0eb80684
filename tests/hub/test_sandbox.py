"""The sandbox of a server: what `bwrap` is asked for, and the refusals where it can't be had. This `bwrap` builds no walls."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.errors import Code
from kumihimo.hub.upstream import MOST_FAILURES
from tests.hub.hub_kit import Scripted, StillTiming, run
from tests.hub.sandbox_kit import walled


class Bubblewrap:
    """A `bwrap` that writes down what it is asked for and starts the server without walls."""

    def __init__(self, folder: Path, *instead: str) -> None:
        self._log = folder / "arguments"
        self._folder = folder / "programs"
        self._folder.mkdir()
        open_the_door = ('while [ "$1" != "--" ]; do shift; done', "shift", 'exec "$@"')
        lines = ["#!/bin/sh", f"printf '%s\\n' \"$@\" > '{self._log}'", *(instead or open_the_door)]
        program = self._folder / "bwrap"
        program.write_text("\n".join(lines) + "\n")
        program.chmod(0o755)

    def environ(self, **more: str) -> dict[str, str]:
        return {**os.environ, "PATH": f"{self._folder}{os.pathsep}{os.environ['PATH']}", **more}

    @property
    def asked(self) -> list[str]:
        """The last time."""
        return self._log.read_text().splitlines()

    def place(self, *words: str) -> int:
        """Where these stand in what it was asked for, one after the other."""
        asked = self.asked
        found = [at for at in range(len(asked)) if tuple(asked[at : at + len(words)]) == words]
        assert len(found) == 1, (words, asked)
        return found[0]


async def look(alpha: Scripted, environ: dict[str, str], root: Path, **expected: str) -> None:
    async with Hub(servers=[alpha.config], environ=environ, root=root) as hub:
        answer = await hub.execute_tool("alpha:look")
        assert answer.success, answer.error
        assert json.loads(answer.data[0]["text"])["env"].items() >= expected.items()


def test_a_server_is_started_behind_every_wall_and_sees_the_system_and_what_is_named(tmp_path: Path) -> None:
    bubblewrap = Bubblewrap(tmp_path)
    home = tmp_path / "home"
    inner, outer = home / "project" / "out", home / "project"
    inner.mkdir(parents=True)
    alpha = walled(tmp_path, read=[str(outer)], write=[str(inner)])
    run(look(alpha, bubblewrap.environ(HOME=str(home)), tmp_path))
    walls = bubblewrap.asked[: bubblewrap.place("--")]
    for wall in (
        "--die-with-parent",
        "--new-session",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-net",
    ):
        assert wall in walls
    bubblewrap.place("--cap-drop", "ALL")
    for private in (("--proc", "/proc"), ("--dev", "/dev"), ("--ro-bind", "/usr", "/usr")):
        bubblewrap.place(*private)
    # A folder before what is in it, or the inner one would be covered.
    order = [
        bubblewrap.place("--tmpfs", "/tmp"),
        bubblewrap.place("--tmpfs", str(home)),
        bubblewrap.place("--ro-bind", str(outer), str(outer)),
        bubblewrap.place("--bind", str(inner), str(inner)),
    ]
    assert order == sorted(order)
    assert {"/", "/etc", "/var", "/home", "/root", "/run", "/etc/ssl", "/etc/shadow"}.isdisjoint(walls)
    assert bubblewrap.asked[bubblewrap.place("--") + 1] == sys.executable


def test_the_network_is_there_only_where_it_is_asked_for(tmp_path: Path) -> None:
    bubblewrap = Bubblewrap(tmp_path)
    run(look(walled(tmp_path, network=True), bubblewrap.environ(), tmp_path))
    assert "--unshare-net" not in bubblewrap.asked
    assert "--unshare-pid" in bubblewrap.asked


def test_a_home_or_a_temporary_folder_that_is_named_is_the_real_one(tmp_path: Path) -> None:
    bubblewrap = Bubblewrap(tmp_path)
    home, temporary = tmp_path / "home", tmp_path / "temporary"
    home.mkdir()
    temporary.mkdir()
    alpha = walled(tmp_path, read=[str(home)], write=[str(temporary)], env={"TMPDIR": str(temporary)})
    run(look(alpha, bubblewrap.environ(HOME=str(home)), tmp_path, HOME=str(home), TMPDIR=str(temporary)))
    bubblewrap.place("--ro-bind", str(home), str(home))
    assert ("--tmpfs", str(home)) not in zip(bubblewrap.asked, bubblewrap.asked[1:], strict=False)


@pytest.mark.parametrize("home", ["/usr/sbin", "/", "", "relative"])
def test_a_home_that_would_cover_the_system_is_replaced(tmp_path: Path, home: str) -> None:
    bubblewrap = Bubblewrap(tmp_path)
    run(look(walled(tmp_path), bubblewrap.environ(HOME=home), tmp_path, HOME="/tmp"))
    assert [word for at, word in enumerate(bubblewrap.asked) if bubblewrap.asked[at - 1] == "--tmpfs"] == ["/tmp"]


async def refused(alpha: Scripted, environ: dict[str, str], root: Path, *says: str) -> dict[str, Any]:
    timing = StillTiming()
    async with Hub(servers=[alpha.config], environ=environ, root=root, timing=timing) as hub:
        # However often it is asked for: nobody waits for what was never started, and the reason stays the reason.
        for _ in range(MOST_FAILURES + 2):
            error = (await hub.execute_tool("alpha:look")).error
            assert error is not None
            assert error.code is Code.CANNOT_EXECUTE
            assert not error.retryable
            for part in ("alpha", "sandbox", *says):
                assert part in error.message
    assert (timing.slept, alpha.pids) == ([], [])
    return error.details or {}


def run_refused(alpha: Scripted, environ: dict[str, str], root: Path, *says: str) -> dict[str, Any]:
    kept: dict[str, Any] = {}

    async def keep() -> None:
        kept.update(await refused(alpha, environ, root, *says))

    run(keep())
    return kept


def test_without_bubblewrap_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    environ = {**os.environ, "PATH": str(tmp_path)}
    run_refused(walled(tmp_path), environ, tmp_path, "bwrap", "apt-get install bubblewrap")


@pytest.mark.parametrize(
    ("instead", "says"),
    [
        ("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1", "setting up uid map: Permission denied"),
        ("exit 7", "code 7"),
    ],
)
def test_where_bubblewrap_is_not_permitted_it_is_told_what_it_answered(tmp_path: Path, instead: str, says: str) -> None:
    bubblewrap = Bubblewrap(tmp_path, instead)
    run_refused(walled(tmp_path), bubblewrap.environ(), tmp_path, "does not work", says)
    assert bubblewrap.asked[-1] == "true"


@pytest.mark.parametrize(
    ("folder", "says"), [("${PROJECT_ROOT}/nowhere", "does not exist"), ("${WORD}", "no absolute folder")]
)
@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_folder_that_is_named_and_not_there_is_told(tmp_path: Path, kind: str, folder: str, says: str) -> None:
    alpha = walled(tmp_path, **{kind: [folder]})
    run_refused(alpha, Bubblewrap(tmp_path).environ(WORD="word"), tmp_path, says)


def test_a_cwd_that_can_not_be_seen_is_told(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    alpha = walled(tmp_path, cwd="elsewhere")
    run_refused(alpha, Bubblewrap(tmp_path).environ(), tmp_path, "cwd", str(tmp_path / "elsewhere"))


def test_a_program_that_can_not_be_seen_is_told_with_every_folder_that_it_needs(tmp_path: Path) -> None:
    """A script in one place, read by a link in another, to a program in a third."""
    real, link, modules = (tmp_path / name for name in ("real", "link", "node_modules"))
    scripts = modules / ".bin"
    for folder in (real / "bin", link / "bin", scripts):
        folder.mkdir(parents=True)
    (real / "bin" / "reader").write_text("")
    (link / "bin" / "reader").symlink_to(real / "bin" / "reader")
    script = scripts / "server"
    script.write_text("#!/usr/bin/env -S reader\n")
    for file in (real / "bin" / "reader", script):
        file.chmod(0o755)
    bubblewrap = Bubblewrap(tmp_path)
    environ = bubblewrap.environ(PATH=f"{bubblewrap.environ()['PATH']}:{link / 'bin'}:{scripts}")
    expected = [str(folder) for folder in (modules, link, real)]
    alpha = walled(tmp_path, command="server")
    assert run_refused(alpha, environ, tmp_path, *expected)["read"] == expected
