"""A server on stdio behind walls: bubblewrap shows it the system's programs and libraries and the folders that are named, and
gives it a /tmp, a home, processes and, unless it is asked for, a network of its own.

Where that can't be had the server is not started: to run it without the walls that were asked for is no way out.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from kumihimo.hub.configuration import Sandbox, ServerConfig
from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.mounts import SYSTEM, TEMPORARY, Mounts
from kumihimo.wire.client.targets import Command

PROBE_SECONDS = 10.0
_WALLS = (
    "--die-with-parent",
    "--new-session",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    # For root, who would keep them all.
    "--cap-drop",
    "ALL",
)
_NAMESPACES = (
    "It needs user namespaces, which may be switched off here "
    "(`sysctl kernel.unprivileged_userns_clone kernel.apparmor_restrict_unprivileged_userns`)"
)
_MOST_INTERPRETERS = 4
# The programs, with and without the network, that were tried and work. One that does not may do so later.
_working: set[tuple[str, bool]] = set()


async def confined(command: Command, config: ServerConfig, sandbox: Sandbox, ours: Mapping[str, str]) -> Command:
    """The same server behind its walls. HubError CANNOT_EXECUTE where they can't be had."""
    environment = dict(command.environment or {})
    home = Path(environment.get("HOME", ""))
    if not home.is_absolute() or home == Path("/") or any(home.is_relative_to(folder) for folder in SYSTEM):
        home = TEMPORARY
    environment["HOME"] = str(home)
    _check_folders(sandbox, config.name)
    mounts = Mounts(sandbox, home)
    if mounts.hidden(Path(environment.get("TMPDIR", TEMPORARY))):
        environment["TMPDIR"] = str(TEMPORARY)
    program = _program(command, environment)
    if program is not None:
        _check_visible(mounts, program, environment, config.name)
    # One that nobody has asked for may be missing: then it starts at home.
    if config.cwd and command.folder and mounts.hidden(command.folder):
        raise _refusal(config.name, f"its `cwd` {command.folder} can't be seen there: add it to `read`")
    bubblewrap = await _bubblewrap(sandbox, config.name, ours)
    argv = (str(program or command.argv[0]), *command.argv[1:])
    return msgspec.structs.replace(
        command, argv=(bubblewrap, *_walls(sandbox), *mounts.arguments, "--", *argv), environment=environment
    )


def _walls(sandbox: Sandbox) -> tuple[str, ...]:
    return _WALLS if sandbox.network else (*_WALLS, "--unshare-net")


def _check_folders(sandbox: Sandbox, server: str) -> None:
    for folder in (*sandbox.read, *sandbox.write):
        # A variable may have turned out to be anything.
        wrong = "is no absolute folder" if not Path(folder).is_absolute() else "does not exist"
        if not Path(folder).is_absolute() or not Path(folder).exists():
            raise _refusal(server, f"its folder '{folder}' {wrong}", {"folder": folder})


def _program(command: Command, environment: Mapping[str, str]) -> Path | None:
    """What its command means outside; None where it means nothing, as will be seen when it is started."""
    name = command.argv[0]
    if "/" in name:
        path = Path(os.path.normpath((command.folder or Path.cwd()) / name))
        return path if path.exists() else None
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    return Path(found).absolute() if found else None


def _check_visible(mounts: Mounts, program: Path, environment: Mapping[str, str], server: str) -> None:
    missing: list[str] = []
    for needed in _needed(program, environment.get("PATH", os.defpath)):
        while (hidden := mounts.hidden(needed)) is not None:
            folder = _belonging(hidden, Path(environment["HOME"]))
            if str(folder) in missing:
                break
            missing.append(str(folder))
            mounts.reveal(folder)
    if missing:
        raise _refusal(
            server,
            f"its program {program} can't be seen there: add {' and '.join(missing)} to `read`",
            {"read": missing},
        )


def _needed(program: Path, search: str) -> Iterator[Path]:
    """The program and, where it is a script, who reads it."""
    for _ in range(_MOST_INTERPRETERS):
        yield program
        try:
            with program.open("rb") as file:
                first = file.readline(1024)
        except OSError:
            return
        words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []
        if not words:
            return
        program = Path(words[0])
        if program.name == "env":
            yield program
            name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
            found = shutil.which(name, path=search)
            if found is None:
                return
            program = Path(found)


def _belonging(program: Path, home: Path) -> Path:
    """The folder that a program is installed in, with what it needs; but never all of somebody's home."""
    # A package of npm needs the others beside it.
    modules = next((folder for folder in reversed(program.parents) if folder.name == "node_modules"), None)
    folder = program.parent
    if modules is not None:
        return modules
    return folder.parent if folder.name == "bin" and folder.parent not in (home, Path("/")) else folder


async def _bubblewrap(sandbox: Sandbox, server: str, ours: Mapping[str, str]) -> str:
    found = shutil.which("bwrap", path=ours.get("PATH", os.defpath))
    if found is None:
        raise _refusal(
            server,
            "there is no `bwrap` on the PATH. It comes with the package `bubblewrap` of every Linux "
            "(`apt-get install bubblewrap`)",
        )
    if (found, sandbox.network) not in _working:
        problem = await asyncio.to_thread(_tried, found, sandbox)
        if problem is not None:
            raise _refusal(
                server, f"`bwrap` does not work on this machine: {problem}. {_NAMESPACES}", {"answer": problem}
            )
        _working.add((found, sandbox.network))
    return found


def _tried(bubblewrap: str, sandbox: Sandbox) -> str | None:
    """What it says where it can't raise these walls around a program that does nothing. In a thread: the loop's own way
    would let a server that is started in the same moment inherit what we wait for the end of."""
    mounts = Mounts(Sandbox(network=sandbox.network), TEMPORARY)
    words = [bubblewrap, *_walls(sandbox), *mounts.arguments, "--", "true"]
    nothing = subprocess.DEVNULL
    try:
        done = subprocess.run(
            words,
            stdin=nothing,
            stdout=nothing,
            stderr=subprocess.PIPE,
            env={"PATH": os.defpath},
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it did nothing for {PROBE_SECONDS:g} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    return done.stderr.decode("utf-8", "replace").strip()[-500:] or f"it exited with code {done.returncode}"


def _refusal(server: str, because: str, details: Mapping[str, object] | None = None) -> HubError:
    return HubError(
        Code.CANNOT_EXECUTE,
        f"The server '{server}' asks for a sandbox, which can't be had: {because}. It was not started.",
        {"server": server, **(details or {})},
    )
