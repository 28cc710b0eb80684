"""A command hook: a program of the user's that is given the notice, on its standard input and in its environment."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from uuid import uuid4

import msgspec

from kumihimo.domain.notice import Notice
from kumihimo.domain.notice_channel import NoticeKind
from kumihimo.engine.notifying.channel import Undelivered
from kumihimo.engine.processes import identity, tree
from kumihimo.engine.processes.checks import clean
from kumihimo.engine.processes.wrapper import MARKER

_LAST_WORDS = 500
_LAST_SECONDS = 5.0


class CommandChannel:
    name = "command"

    def __init__(self, argv: Sequence[str], kinds: tuple[NoticeKind, ...], seconds: float) -> None:
        self.kinds = kinds
        self._argv = list(argv)
        self._seconds = seconds

    def tell(self, notice: Notice) -> None:
        """It has run, whatever it thought of it: it is not run twice for one notice."""
        run(self._argv, msgspec.json.encode(notice), variables(notice), self._seconds)


def variables(notice: Notice) -> dict[str, str]:
    plain: dict[str, str | None] = msgspec.to_builtins(notice)
    return {f"KUMI_NOTICE_{name.upper()}": value or "" for name, value in plain.items()}


def run(argv: Sequence[str], stdin: bytes, environment: dict[str, str], seconds: float) -> None:
    """To its end. Undelivered where it can't be started, fails, or takes too long: then everything it started is killed."""
    mark = f"notice-{uuid4().hex}"
    # Files and not pipes: what it leaves running in the background must not hold us up.
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(
                argv,
                stdin=given,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env={**clean(os.environ), **environment, MARKER: mark},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Undelivered(f"{argv[0]} can't be started: {error}") from error
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Undelivered(f"{argv[0]} took longer than {seconds:g} s and was ended") from None
        finally:
            if process.returncode is None:
                _kill(mark, process)
        if code:
            raise Undelivered(f"{argv[0]} ended with {code}: {_end_of(said.fileno())}")


def _kill(mark: str, process: subprocess.Popen[bytes]) -> None:
    """It, what it has started, and what that has started meanwhile."""
    whole = tree.of_run(mark, identity.of(process.pid))
    process.kill()
    tree.send(whole, signal.SIGKILL)
    process.wait(_LAST_SECONDS)
    tree.send(tree.of_run(mark, None), signal.SIGKILL)


def _end_of(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    last = os.pread(descriptor, _LAST_WORDS, max(0, size - _LAST_WORDS))
    return last.decode("utf-8", "replace").strip() or "it said nothing"
