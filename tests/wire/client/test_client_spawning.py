"""How servers are started: as `subprocess` would, but side by side and beside the event loop."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from threading import Barrier, Event
from typing import Any, Literal

import pytest

from kumihimo.wire.client import process, spawning
from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.client.spawning import Spawned
from kumihimo.wire.client.targets import Command
from tests.wire.client.client_kit import run

LOOK = (
    "import json, os, sys\n"
    "print(json.dumps([sorted(map(int, os.listdir('/proc/self/fd')))[:-1], os.getcwd(), dict(os.environ),\n"
    "  os.getsid(0) == os.getpid() == os.getpgrp(), sys.argv[1:], os.readlink('/proc/self/fd/2')[:4]]))"
)
# The two that the C library keeps to itself, and ignores in whatever it starts.
INTERNAL = 0b11 << 31
WAYS = {"quickly": spawning._quickly, "patiently": spawning._patiently}  # pyright: ignore[reportPrivateUsage]


def command(*argv: str, environment: dict[str, str] | None = None, folder: Path | None = None) -> Command:
    return Command(argv=argv, environment=environment or {"PATH": os.environ["PATH"]}, folder=folder)


def heard(spawned: Spawned | None) -> bytes:
    assert spawned is not None
    assert spawned.stdin is not None
    assert spawned.stdout is not None
    with spawned.stdin, spawned.stdout:
        found = spawned.stdout.read()
    if spawned.stderr is not None:
        spawned.stderr.close()
    assert spawned.wait() == 0
    return found


@pytest.mark.parametrize("errors", ["keep", "drop", "inherit"])
def test_a_server_finds_the_same_world_however_it_is_started(
    tmp_path: Path, errors: Literal["keep", "drop", "inherit"]
) -> None:
    environment = {"PATH": os.environ["PATH"], "NAME": "ä=\udcff", "LC_ALL": "C.UTF-8"}
    argv = (sys.executable, "-I", "-S", "-c", LOOK, "", "an ä", "\udcff")
    asked = Command(argv=argv, environment=environment, folder=tmp_path, errors=errors)
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        worlds = {name: heard(way(asked)) for name, way in WAYS.items()}
    finally:
        os.close(reading)
        os.close(writing)
    assert worlds["quickly"] == worlds["patiently"]
    assert worlds["quickly"].startswith(b"[[0, 1, 2], ")


def test_a_server_ignores_no_signal_that_only_we_ignore() -> None:
    look = command("grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status")
    quickly, patiently = ([int(mask, 16) for mask in heard(way(look)).split()[1::2]] for way in WAYS.values())
    # They may be ignored here already, by whoever has started us.
    assert [mask & ~INTERNAL for mask in quickly] == [mask & ~INTERNAL for mask in patiently]
    assert not patiently[1] >> (signal.SIGPIPE - 1) & 1


def test_a_program_is_looked_for_on_the_path_that_the_server_gets(tmp_path: Path) -> None:
    for name, mode in (("first", 0o644), ("second", 0o755), ("third", 0o755)):
        place = tmp_path / name / "greet"
        place.parent.mkdir()
        place.write_text(f"#!/bin/sh\necho {name}\n")
        place.chmod(mode)
    (tmp_path / "nothing" / "greet").mkdir(parents=True)
    folders = ":".join(str(tmp_path / name) for name in ("missing", "nothing", "first", "second", "third"))
    for way in WAYS.values():
        assert heard(way(command("greet", environment={"PATH": folders}))) == b"second\n"
        assert heard(way(command("./greet", folder=tmp_path / "third"))) == b"third\n"


def _wrong(folder: Path) -> dict[str, Command]:
    """What can't be started, by what is said about it."""
    plain = folder / "plain"
    plain.write_text("no program")
    odd = folder / "odd"
    odd.write_text("neither a program nor a script")
    odd.chmod(odd.stat().st_mode | stat.S_IXUSR)
    lost = folder / "lost"
    lost.write_text("#!/nothing/here\n")
    lost.chmod(0o755)
    path = {"PATH": str(folder)}
    return {
        "there is no program /nothing/here": command("/nothing/here"),
        "there is no program ./nothing": command("./nothing", folder=folder),
        "no program 'nothing-of-this-name' is on its PATH; is it installed?": command("nothing-of-this-name"),
        "no program 'sh' is on its PATH; is it installed?": command("sh", environment=path),
        f"{plain} may not be executed": command(str(plain)),
        f"{odd}: Exec format error": command(str(odd)),
        "odd: Exec format error": command("odd", environment=path),
        "lost: the program that its first line names is not there": command("lost", environment=path),
        "./lost: the program that its first line names is not there": command("./lost", folder=folder),
        f"{folder} may not be executed": command(str(folder)),
        f"its folder {folder / 'missing'}: No such file or directory": command("sh", folder=folder / "missing"),
        f"its folder {plain}: Not a directory": command("sh", folder=plain),
        "sh: embedded null byte": command("sh", "a\0b"),
        "env: embedded null byte": command("env", environment={"PATH": "/bin", "A": "a\0b"}),
        "sh: illegal environment variable name": command("sh", environment={"PATH": "/bin", "A=": "b"}),
        "ls: embedded null byte": command("ls", folder=Path("a\0b")),
    }


def test_what_can_not_be_started_is_told_with_what_is_wrong(tmp_path: Path) -> None:
    async def refused(wrong: Command) -> str:
        with pytest.raises(ConnectionFailed) as told:
            await process.start(wrong)
        return str(told.value)

    for words, wrong in _wrong(tmp_path).items():
        with pytest.raises((OSError, ValueError)):
            subprocess.Popen(wrong.argv, env=dict(wrong.environment or {}), cwd=wrong.folder)
        assert asyncio.run(refused(wrong)) == words
        before = len(list(Path("/proc/self/fd").iterdir()))
        asyncio.run(refused(wrong))
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_whoever_stops_waiting_for_a_start_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Spawned] = []
    spawn = spawning._spawn  # pyright: ignore[reportPrivateUsage]

    def noted(asked: Command) -> Spawned:
        made.append(spawn(asked))
        return made[-1]

    monkeypatch.setattr(spawning, "_spawn", noted)

    async def stop() -> None:
        starting = asyncio.ensure_future(process.start(command("sleep", "1000")))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    run(stop())
    assert [Path(f"/proc/{spawned.pid}").exists() for spawned in made] == [False]


def test_whoever_stops_waiting_for_a_start_a_second_time_leaves_no_process_and_no_pipe_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the end of a program does, which cancels all that is under way once more."""
    made: list[Spawned] = []
    begun, go_on = Event(), Event()
    spawn = spawning._spawn  # pyright: ignore[reportPrivateUsage]

    def slow(asked: Command) -> Spawned:
        begun.set()
        go_on.wait(60)
        made.append(spawn(asked))
        return made[-1]

    monkeypatch.setattr(spawning, "_spawn", slow)
    before = len(list(Path("/proc/self/fd").iterdir()))

    async def stop() -> None:
        starting = asyncio.ensure_future(process.start(command("sleep", "1000")))
        await asyncio.to_thread(begun.wait, 60)
        for _ in range(2):
            starting.cancel()
            await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await starting

    run(stop())
    assert [Path(f"/proc/{spawned.pid}").exists() for spawned in made] == [False]
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_loop_goes_on_while_a_server_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so do the starts of others: each of these ends only when all have begun."""
    together = Barrier(4)
    spawn = spawning._spawn  # pyright: ignore[reportPrivateUsage]

    def slow(asked: Command) -> Spawned:
        together.wait(60)
        return spawn(asked)

    monkeypatch.setattr(spawning, "_spawn", slow)

    async def start() -> None:
        for begun in await asyncio.gather(*(process.start(command("cat")) for _ in range(4))):
            for pipe in (begun.stdin, begun.stdout, begun.stderr):
                assert pipe is not None
                pipe.close()
            await begun.end()

    run(start())


def test_a_c_library_that_has_not_all_that_is_needed_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ctypes.PyDLL

    class Older:
        def __init__(self, name: None) -> None:
            self._whole = whole(name)

        def __getattr__(self, name: str) -> Any:
            if name.endswith("addclosefrom_np"):
                raise AttributeError(name)
            return getattr(self._whole, name)

    spawning._library.cache_clear()  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(ctypes, "PyDLL", Older)
    try:
        assert spawning._quickly(command("/bin/echo", "started")) is None  # pyright: ignore[reportPrivateUsage]
        assert heard(spawning._spawn(command("/bin/echo", "started"))) == b"started\n"  # pyright: ignore[reportPrivateUsage]
    finally:
        spawning._library.cache_clear()  # pyright: ignore[reportPrivateUsage]
