"""The guardian by itself: who is marked ends with the hub, whatever becomes of the guardian meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kumihimo.hub.guardian import VARIABLE, Guardian
from tests.hub.hub_kit import BOUND, alive, run, until


class Watch(NamedTuple):
    """A guardian, its process, and somebody to look after, whom nobody else would end."""

    guardian: Guardian
    process: subprocess.Popen[bytes]
    charge: int


@pytest.fixture
def watch() -> Iterator[Watch]:
    guardian = Guardian()
    environment = {**os.environ, VARIABLE: guardian.mark}
    with subprocess.Popen(["sleep", "1000"], env=environment, start_new_session=True) as charge:
        guardian.start()
        process = guardian._process  # pyright: ignore[reportPrivateUsage]
        assert process is not None
        yield Watch(guardian, process, charge.pid)
        charge.kill()


def test_a_guardian_waits_as_a_shell_and_is_gone_when_the_hub_has_ended_in_order(watch: Watch) -> None:
    """An interpreter would take its time just while the servers start."""
    assert Path(f"/proc/{watch.process.pid}/exe").resolve() == Path("/bin/sh").resolve()
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    run(watch.guardian.close())
    assert not alive(watch.charge)
    assert watch.process.returncode == 0
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors - 1


def test_a_guardian_hears_no_signal_and_acts_when_the_hub_is_gone_without_a_word(watch: Watch) -> None:
    run(until(lambda: _ignores(watch.process.pid, signal.SIGHUP)))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        watch.process.send_signal(number)
    assert watch.process.stdin is not None
    watch.process.stdin.close()
    assert watch.process.wait(BOUND) == 0
    assert not alive(watch.charge)


def test_a_hub_whose_guardian_was_killed_ends_its_servers_itself(watch: Watch) -> None:
    watch.process.kill()
    run(watch.guardian.close())
    assert not alive(watch.charge)


def _ignores(pid: int, number: signal.Signals) -> bool:
    ignored = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) >> (number - 1) & 1)
