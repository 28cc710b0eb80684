"""A process of ours that dies by `kill -9` at a named point, or whose store fails for a while.

    python doomed.py '{"role": "supervisor", "kills": [{"at": "MODULE:CLASS.METHOD", "when": "before", "passing": 3}]}'

`role`: `supervisor` (the loop alone), `host` (with HTTP, as `kumi up` runs it) or `stdio` (as `kumi mcp serve` does).
`when`: before or after the method; or `half`, when half of the script has been written to the shell. `passing`: how many
times it is passed before. `since`: only passings after that method was passed. `saying`: only with this in its arguments.
`pauses`: methods before which it waits for a file. `trouble`: how many commits fail from where on, and how. `failing`:
methods that find the store away so many times. `frozen`: a file for the pid of the first shell, which is held still when
it is told. `patience`: seconds between TERM and KILL. `counting`: seconds after which it counts again who is there.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives this")


def place(at: str) -> tuple[Any, str]:
    """What holds the method, and its name there."""
    module, _, path = at.partition(":")
    *outer, name = path.split(".")
    owner: Any = import_module(module)
    for part in outer:
        owner = getattr(owner, part)
    return owner, name


def wrap(at: str, around: Callable[..., Any]) -> None:
    owner, name = place(at)
    original = getattr(owner, name)
    setattr(owner, name, lambda *args, **kwargs: around(original, *args, **kwargs))


class Doom:
    """One point at which this process dies."""

    def __init__(
        self, at: str, when: str, passing: int = 1, since: str | None = None, saying: str | None = None
    ) -> None:
        self._when = when
        self._left = passing
        self._armed = since is None
        self._saying = saying
        wrap(at, self._half if when == "half" else self._pass)
        if since is not None:
            wrap(since, self._arm)

    def _arm(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        answer = original(*args, **kwargs)
        self._armed = True
        return answer

    def _due(self, args: tuple[Any, ...]) -> bool:
        if not self._armed or (self._saying is not None and self._saying not in repr(args)):
            return False
        self._left -= 1
        return self._left == 0

    def _pass(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        due = self._due(args)
        if due and self._when == "before":
            die()
        answer = original(*args, **kwargs)
        if due:
            die()
        return answer

    def _half(self, original: Callable[..., Any], shell: Any, script: bytes) -> Any:
        if self._due(()):
            os.write(shell._pipe, script[: len(script) // 2])
            die()
        return original(shell, script)


def pause(at: str, file: str) -> None:
    def wait(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        # Only where there is something to do: a turn with nothing to launch passes here too.
        busy = args[1:] or args[0]._runs
        while busy and not Path(file).exists():
            time.sleep(0.005)
        return original(*args, **kwargs)

    wrap(at, wait)


def freeze(file: str) -> None:
    """The first shell is held still when it is told what to do; its pid is in the file."""

    def hold(original: Callable[..., Any], shell: Any, script: bytes) -> Any:
        if not Path(file).exists():
            os.kill(shell.pid, signal.SIGSTOP)
            Path(file).write_text(str(shell.pid))
        return original(shell, script)

    wrap("kumihimo.engine.processes.nursery:Shell.tell", hold)


class Trouble:
    """Commits of the supervisor that fail, from the first one after a method was passed."""

    def __init__(self, commits: int, since: str, kind: str) -> None:
        self._left = commits
        self._kind = kind
        self._begun = False
        wrap(since, self._begin)
        if kind == "cut":
            wrap("kumihimo.store.postgres:PostgresConnection.commit", self._cut)
        else:
            wrap("kumihimo.store.sqlite:SqliteConnection.commit", self._commit)

    def _begin(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._begun = True
        return original(*args, **kwargs)

    def _commit(self, original: Callable[..., Any], connection: Any) -> Any:
        import apsw

        if self._begun and self._left > 0:
            self._left -= 1
            raise {"full": apsw.FullError, "gone": apsw.IOError}[self._kind]("injected")
        return original(connection)

    def _cut(self, original: Callable[..., Any], connection: Any) -> Any:
        """The wire is cut before the word is out, and the next time when it was heard and before the answer."""
        if self._begun and self._left > 0:
            self._left -= 1
            if self._left % 2 == 0:
                connection.execute("COMMIT")
            with socket.socket(fileno=os.dup(connection._database.fileno())) as wire:
                wire.shutdown(socket.SHUT_RDWR)
        return original(connection)


def fail(at: str, times: int) -> None:
    from kumihimo.domain.errors import StoreUnreachable

    left = [times]

    def raise_first(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if left[0] > 0:
            left[0] -= 1
            raise StoreUnreachable("injected", reason="away")
        return original(*args, **kwargs)

    wrap(at, raise_first)


def supervise(settings: Any) -> None:
    from kumihimo.app import open_board
    from kumihimo.services.host_name import host_id
    from kumihimo.supervisor.ears import Ears
    from kumihimo.supervisor.supervisor import Supervisor

    settings.state_folder.mkdir(parents=True, exist_ok=True)
    identifier = host_id(settings.state_folder)
    # No agent of these tests asks for anything at this address.
    Supervisor(settings, open_board(settings), identifier, "test", "http://127.0.0.1:9", Ears(complain)).run()


def complain(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def serve(settings: Any) -> None:
    from kumihimo.surfaces.mcp import stdio

    stdio.serve(settings, ["lead"], None)


def host(settings: Any) -> None:
    from kumihimo.surfaces.host.process import Host

    Host(settings).run("127.0.0.1", 0, lambda running: complain(running.url))


def main(order: dict[str, Any]) -> None:
    from kumihimo.settings import Flags, load
    from kumihimo.supervisor import stopping

    for kill in order.get("kills", []):
        Doom(**kill)
    for one in order.get("pauses", []):
        pause(**one)
    for one in order.get("failing", []):
        fail(**one)
    if "frozen" in order:
        freeze(order["frozen"])
    if "trouble" in order:
        Trouble(**order["trouble"])
    if "patience" in order:
        stopping.PATIENCE_SECONDS = order["patience"]
    if "counting" in order:
        from kumihimo.supervisor import presence

        setattr(presence, "_REACH_SECONDS", order["counting"])  # noqa: B010 - a minute is long for a test
    settings = load(Flags(), os.environ, Path.cwd())
    {"supervisor": supervise, "host": host, "stdio": serve}[order.get("role", "supervisor")](settings)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
