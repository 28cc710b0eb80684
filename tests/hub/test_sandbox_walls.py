"""The walls themselves, by the real `bwrap`: what a server behind them can and can't reach, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.results import Answer
from tests.hub.hub_kit import BOUND, Scripted, run, until
from tests.hub.processes import MARK, marked
from tests.hub.sandbox_kit import walled


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed: apt-get install bubblewrap")
    walls = ["--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    tried = subprocess.run(["bwrap", *walls, "true"], capture_output=True, text=True, timeout=BOUND, check=False)
    if tried.returncode:
        pytest.skip(f"bwrap does not work on this machine: {tried.stderr.strip()}")


@asynccontextmanager
async def prison(alpha: Scripted, root: Path, **environ: str) -> AsyncGenerator[Hub]:
    async with Hub(servers=[alpha.config], root=root, environ={**os.environ, **environ}) as hub:
        yield hub


def said(answer: Answer) -> Any:
    assert answer.success, answer.error
    return answer.data[0]["text"]


async def attempt(hub: Hub, what: str, where: object) -> str:
    return said(await hub.execute_tool("alpha:try", {"what": what, "where": where}))


def test_only_what_is_named_can_be_read_and_only_what_is_named_for_it_written(tmp_path: Path) -> None:
    outside, read, write, home = (tmp_path / name for name in ("outside", "read", "write", "home"))
    for folder in (outside, read, write, home):
        folder.mkdir()
        (folder / "note").write_text("a note")
    alpha = walled(tmp_path, read=[str(read)], write=[str(write)])

    async def reach() -> None:
        async with prison(alpha, tmp_path, HOME=str(home)) as hub:
            seen = [await attempt(hub, "read", str(folder / "note")) for folder in (outside, read, write, home)]
            assert seen == ["FileNotFoundError", "a note", "a note", "FileNotFoundError"]
            new = [await attempt(hub, "write", str(folder / "new")) for folder in (outside, read, write, home)]
            assert new == ["FileNotFoundError", "OSError", "done", "done"]
            assert await attempt(hub, "read", "/etc/shadow") == "FileNotFoundError"
            assert await attempt(hub, "write", "/usr/kumihimo") == "OSError"
            assert await attempt(hub, "write", "/tmp/kumihimo-sandbox-test") == "done"

    run(reach())
    assert (write / "new").read_text() == "written"
    # Its home and its /tmp are its own.
    for private in (read / "new", home / "new", Path("/tmp/kumihimo-sandbox-test")):
        assert not private.exists()
    assert (home / "note").exists()


def test_the_whole_machine_can_be_named_and_what_is_private_stays_so(tmp_path: Path) -> None:
    async def reach() -> None:
        async with prison(walled(tmp_path, read=["/"]), tmp_path) as hub:
            assert await attempt(hub, "read", "/proc/1/comm") == "bwrap\n"
            assert "etc" in await attempt(hub, "list", "/")
            assert await attempt(hub, "write", "/etc/kumihimo") == "OSError"
            assert await attempt(hub, "write", "/tmp/kumihimo-sandbox-test") == "done"

    run(reach())
    assert not Path("/tmp/kumihimo-sandbox-test").exists()


def test_nobody_behind_walls_sets_what_holds_for_the_whole_machine(tmp_path: Path) -> None:
    """Root could, without any privilege: the kernel asks for no more than who it is. This one is the server's alone."""

    async def reach() -> None:
        async with prison(walled(tmp_path, write=["/"]), tmp_path) as hub:
            assert await attempt(hub, "write", "/proc/sys/kernel/hostname") in ("OSError", "PermissionError")

    run(reach())


@pytest.mark.parametrize("network", [False, True])
def test_there_is_no_network_unless_it_is_asked_for(tmp_path: Path, network: bool) -> None:
    async def reach() -> None:
        listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        async with listening, prison(walled(tmp_path, network=network), tmp_path) as hub:
            port = listening.sockets[0].getsockname()[1]
            assert await attempt(hub, "connect", port) == ("done" if network else "ConnectionRefusedError")

    run(reach())


def test_a_server_behind_walls_sees_no_process_of_ours_and_has_a_home_and_a_temporary_folder(tmp_path: Path) -> None:
    home, project = tmp_path / "nowhere", tmp_path / "project"
    project.mkdir()

    async def reach() -> None:
        async with prison(walled(tmp_path), project, HOME=str(home), TMPDIR=str(project)) as hub:
            processes = [name for name in (await attempt(hub, "list", "/proc")).split() if name.isdigit()]
            assert len(processes) < 5
            seen = json.loads(said(await hub.execute_tool("alpha:look")))
            assert (seen["env"]["HOME"], seen["env"]["TMPDIR"]) == (str(home), "/tmp")
            assert await attempt(hub, "list", str(home)) == ""
            # The folder of the project is not to be seen, so it is at home.
            assert seen["cwd"] == str(home)

    run(reach())


def test_a_program_that_does_not_exist_is_told_as_without_walls(tmp_path: Path) -> None:
    async def start() -> None:
        async with prison(walled(tmp_path, command="/nobody"), tmp_path) as hub:
            error = (await hub.execute_tool("alpha:look")).error
            assert error is not None
            assert "No such file" in error.message

    run(start())


def test_nothing_behind_the_walls_is_left_when_the_hub_ends(tmp_path: Path) -> None:
    alpha = walled(tmp_path, env={MARK: str(tmp_path)})

    async def end() -> None:
        async with prison(alpha, tmp_path) as hub:
            assert (await hub.execute_tool("alpha:child")).success
            # bwrap outside, the server, and its child.
            assert len(marked(str(tmp_path))) >= 3
        assert marked(str(tmp_path)) == []

    run(end())


def test_nothing_behind_the_walls_is_left_when_the_program_is_killed(tmp_path: Path) -> None:
    alpha = walled(tmp_path, env={MARK: str(tmp_path)})
    program = (
        "import asyncio, json, os, sys\nfrom kumihimo import Hub\n"
        "async def main():\n"
        "    async with Hub(servers=[json.loads(sys.argv[1])]) as hub:\n"
        "        assert (await hub.execute_tool('alpha:child')).success\n"
        "        os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    argv = [sys.executable, "-c", program, json.dumps(alpha.config)]
    killed = subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=BOUND, check=False)
    assert killed.returncode == -9, killed.stderr
    assert alpha.pids
    run(until(lambda: not marked(str(tmp_path))))
