"""The processes that an agent leaves behind, the commands that it runs, and the signals that it does not obey."""

from __future__ import annotations

import os

from kumihimo.testing.agents.files import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable
    from typing import Any
else:
    # The C module under `signal`, which itself makes enumerations at every start.
    import _signal

_FOR_EVER = 10_000_000


def signal_number(name: str | int) -> int:
    """15 for 15, "TERM" and "SIGTERM"."""
    import signal

    if isinstance(name, int):
        return name
    return int(signal.Signals["SIG" + name.upper().removeprefix("SIG")])


def on_term(handler: Callable[[], None]) -> None:
    """The first TERM calls the handler, which does not come back; the next ones are ignored."""

    def caught(_number: int, _frame: Any) -> None:
        _signal.signal(_signal.SIGTERM, _signal.SIG_IGN)
        handler()

    _signal.signal(_signal.SIGTERM, caught)


def ignore(number: int) -> None:
    _signal.signal(number, _signal.SIG_IGN)


def die_of(number: int) -> None:
    """By our own hand, in the way that this signal kills."""
    if number not in (_signal.SIGKILL, _signal.SIGSTOP):
        _signal.signal(number, _signal.SIG_DFL)
    os.kill(os.getpid(), number)


def run_shell(command: str, own_session: bool) -> tuple[int, str]:
    """Exit code and output. It stays in our group unless it is to have a session of its own, as some CLIs do it."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        if own_session:
            os.setsid()
        os.dup2(into, 1)
        os.dup2(into, 2)
        _exec(["/bin/sh", "-c", command], dict(os.environ))
    os.close(into)
    output = read_bytes(out)
    os.close(out)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return (code if code >= 0 else 128 - code), output.decode("utf-8", "replace")


def leave_behind(step: dict[str, Any], record: Callable[[str], None]) -> None:
    """A process that outlives this step: `child` in our group, or `daemon` by two forks in a session of its own.

    It writes its own record, and we go on when it has become what it is to be.
    """
    kind: str = step["do"]
    ready, mine = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ready)
        if kind == "daemon":
            os.setsid()
            if os.fork():
                os._exit(0)
        _prepare(step)
        record(kind)
        environment = {} if step.get("environment") == "clear" else dict(os.environ)
        # The pipe is closed by this, and that is the sign.
        _exec(["sleep", str(step.get("seconds", _FOR_EVER))], environment)
    os.close(mine)
    read_bytes(ready)
    os.close(ready)
    if kind == "daemon":
        os.waitpid(pid, 0)


def _prepare(step: dict[str, Any]) -> None:
    # What is ignored stays ignored in the program that follows; a handler does not.
    for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGINT) if step.get("ignore_term") else ():
        _signal.signal(number, _signal.SIG_IGN)
    if not step.get("holds_output"):
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)


def _exec(command: list[str], environment: dict[str, str]) -> None:
    # Python ignores it for itself; a pipe in a shell needs it.
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    try:
        os.execvpe(command[0], command, environment)  # noqa: S606
    finally:
        os._exit(127)
