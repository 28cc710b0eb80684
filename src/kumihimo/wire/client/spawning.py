"""How the process of a server is started: beside the event loop, and many side by side.

Whoever starts a process is held by the system until the other program has been found and loaded, which takes long where
the machine is busy. `subprocess` holds the whole interpreter meanwhile, so that fifty servers would be waited for one after
the other. The C library's `posix_spawn` is called without holding it, by a few threads.

Where that can't be had or does not work `subprocess` starts the process, or tells why there can be none.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Protocol

from kumihimo.wire.client.targets import Command

# More than the machine has processors: they wait, and do not compute.
_MOST_AT_ONCE = 8
_SETSIGDEF, _SETSID = 0x04, 0x80
# What the interpreter ignores, and nobody else expects to be ignored.
_RESTORED = (signal.SIGPIPE, signal.SIGXFSZ)
# More than any C library takes for what only it looks into.
_OPAQUE = 1024


class Spawned(Protocol):
    """A process of ours, with its ends of the pipes; `subprocess.Popen` is one."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def wait(self) -> int:
        """Wait for its end, and bury it."""
        ...


def spawn(command: Command) -> Future[Spawned]:
    """In a session of its own, with pipes. OSError or ValueError where that is not possible."""
    return _threads().submit(_spawn, command)


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_AT_ONCE, "spawn")


def _spawn(command: Command) -> Spawned:
    return _quickly(command) or _patiently(command)


def _patiently(command: Command) -> Spawned:
    errors = {"keep": subprocess.PIPE, "drop": subprocess.DEVNULL, "inherit": None}[command.errors]
    return subprocess.Popen(
        command.argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=None if command.environment is None else dict(command.environment),
        cwd=command.folder,
        start_new_session=True,
        # The loop reads and writes them, and has buffers of its own.
        bufsize=0,
    )


class _Process:
    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes] | None = None) -> None:
        self.pid = pid
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout
        self.stderr = stderr

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _quickly(command: Command) -> Spawned | None:
    """None where it is not known to be right, or there is a reason why it can't be started at all."""
    library = _library()
    program = _program(command)
    texts = _texts(command)
    if library is None or program is None or texts is None:
        return None
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        pipes: list[IO[bytes]] = []
        # Descriptors, and which ones of the new process they become.
        given: list[tuple[int, int]] = []
        for number in (0, 1, 2)[: 3 if command.errors == "keep" else 2]:
            reading, writing = os.pipe()
            mine, other = (reading, writing) if number else (writing, reading)
            theirs.callback(os.close, other)
            pipes.append(ours.enter_context(os.fdopen(mine, "rb" if number else "wb", 0)))
            given.append((other, number))
        if command.errors == "drop":
            given.append((os.open(os.devnull, os.O_WRONLY), 2))
            theirs.callback(os.close, given[-1][0])
        # Where one of the first three was closed here a pipe has its number, and would be covered by another.
        if min(other for other, _ in given) < 3:
            return None
        pid = library.start(program, texts, given, command.folder)
        if pid is None:
            return None
        ours.pop_all()
    return _Process(pid, *pipes)


def _program(command: Command) -> bytes | None:
    """The program that its name means on its PATH; None where none is found, or that depends on its folder."""
    environment = command.environment
    if environment is None or not command.argv:
        return None
    name = command.argv[0]
    if "/" in name:
        return os.fsencode(name)
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        if not folder.startswith("/"):
            return None
        place = f"{folder}/{name}"
        if os.access(place, os.X_OK) and Path(place).is_file():
            return os.fsencode(place)
    return None


def _texts(command: Command) -> tuple[list[bytes], list[bytes]] | None:
    """Arguments and environment as the system takes them; None where one can't be said."""
    environment = command.environment or {}
    arguments = [os.fsencode(argument) for argument in command.argv]
    variables = [os.fsencode(f"{name}={value}") for name, value in environment.items()]
    cut = any(b"\0" in text for text in (*arguments, *variables, os.fsencode(command.folder or "")))
    return None if cut or any("=" in name for name in environment) else (arguments, variables)


class _Library:
    """The C library. Only the start itself lets go of the interpreter: what takes a microsecond would wait for it again."""

    def __init__(self) -> None:
        # Whoever starts no server does not wait for it.
        import ctypes

        self._ctypes = ctypes
        self._plain: Any = ctypes.PyDLL(None)
        self._spawn: Any = ctypes.CDLL(None).posix_spawn
        # Not every library has these two: it is to be known before anything is started.
        self._close_from: Any = self._plain.posix_spawn_file_actions_addclosefrom_np
        self._change_folder: Any = self._plain.posix_spawn_file_actions_addchdir_np
        self._attributes = ctypes.create_string_buffer(_OPAQUE)
        signals = ctypes.create_string_buffer(_OPAQUE)
        self._plain.sigemptyset(signals)
        for number in _RESTORED:
            self._plain.sigaddset(signals, int(number))
        self._plain.posix_spawnattr_init(self._attributes)
        self._plain.posix_spawnattr_setflags(self._attributes, ctypes.c_short(_SETSID | _SETSIGDEF))
        self._plain.posix_spawnattr_setsigdefault(self._attributes, signals)

    def start(
        self, program: bytes, texts: tuple[list[bytes], list[bytes]], given: list[tuple[int, int]], folder: Path | None
    ) -> int | None:
        """The new process; None where there is none."""
        plain, ctypes = self._plain, self._ctypes
        actions = ctypes.create_string_buffer(_OPAQUE)
        plain.posix_spawn_file_actions_init(actions)
        try:
            wrong = [plain.posix_spawn_file_actions_adddup2(actions, *pair) for pair in given]
            wrong.append(self._close_from(actions, 3))
            if folder is not None:
                wrong.append(self._change_folder(actions, os.fsencode(folder)))
            if any(wrong):
                return None
            arguments, variables = ((ctypes.c_char_p * (len(part) + 1))(*part) for part in texts)
            pid = ctypes.c_int()
            failed = self._spawn(ctypes.byref(pid), program, actions, self._attributes, arguments, variables)
            return None if failed else pid.value
        finally:
            plain.posix_spawn_file_actions_destroy(actions)


@functools.cache
def _library() -> _Library | None:
    """None where it has not all that is needed."""
    try:
        return _Library() if sys.platform == "linux" else None
    except AttributeError:
        return None
