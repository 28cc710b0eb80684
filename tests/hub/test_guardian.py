"""The guardian by itself: who is marked ends with the hub, whatever becomes of the guardian meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kumihimo import Hub
from kumihimo.hub.guardian import VARIABLE, Guardian
from kumihimo.hub.guardian_program import end_marked
from tests.hub.hub_kit import BOUND, Scripted, alive, run, until
from tests.hub.processes import MARK, marked


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
    unheard = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    # Each of them: who runs the tests may have them ignore one already.
    run(until(lambda: all(_ignores(watch.process.pid, number) for number in unheard)))
    for number in unheard:
        watch.process.send_signal(number)
    assert watch.process.stdin is not None
    watch.process.stdin.close()
    assert watch.process.wait(BOUND) == 0
    assert not alive(watch.charge)


def test_a_hub_whose_guardian_was_stopped_does_not_wait_for_it(watch: Watch) -> None:
    watch.process.send_signal(signal.SIGSTOP)
    run(watch.guardian.close())
    assert not alive(watch.charge)
    assert watch.process.returncode == -signal.SIGKILL


def test_of_several_who_are_ended_none_is_left_that_takes_its_time_to_go() -> None:
    """The system takes a while to tear down who has much memory; its environment is gone before that."""
    program = "import sys, time; held = bytearray(int(sys.argv[1])); print(flush=True); time.sleep(1000)"
    for _ in range(5):
        # Nobody else's, who may run the same test beside this one.
        mark = secrets.token_hex(8)
        environment = {**os.environ, VARIABLE: mark}
        with contextlib.ExitStack() as stack:
            started: list[subprocess.Popen[bytes]] = []
            for held in ("1", "300000000"):
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", program, held], env=environment, stdout=subprocess.PIPE
                )
                stack.enter_context(process)
                stack.callback(process.kill)
                started.append(process)
            for process in started:
                assert process.stdout is not None
                process.stdout.readline()
            end_marked(f"{VARIABLE}={mark}".encode())
            assert not [process.pid for process in started if alive(process.pid)]


def test_a_hub_whose_guardian_was_killed_ends_its_servers_itself(watch: Watch) -> None:
    watch.process.kill()
    run(watch.guardian.close())
    assert not alive(watch.charge)


def test_whoever_stops_waiting_for_the_end_of_a_hub_leaves_nobody_and_no_pipe(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "child", "does": "child"}, stubborn=True)
    before = len(list(Path("/proc/self/fd").iterdir()))

    async def stop() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            pids = [*json.loads((await hub.execute_tool("alpha:child")).data[0]["text"]), *alpha.pids]
            closing = asyncio.create_task(hub.close())
            await asyncio.sleep(0)
            closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
            # At once, although they would be given time to end by themselves.
            assert not any(map(alive, pids))

    run(stop())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("begun", [1, 6, 15])
def test_no_process_is_left_of_a_hub_that_is_killed_while_it_starts_many(tmp_path: Path, begun: int) -> None:
    """They would go on without their input."""
    script = "trap '' TERM HUP; while :; do sleep 1000; done"
    servers = [
        {"name": f"server-{number}", "command": "sh", "args": ["-c", script], "env": {MARK: str(tmp_path)}}
        for number in range(20)
    ]
    program = (
        "import asyncio, json, sys\nfrom kumihimo import Hub\n"
        "async def main():\n"
        "    async with Hub(servers=json.loads(sys.argv[1])) as hub:\n"
        "        await asyncio.gather(*(hub.connect(server['name']) for server in json.loads(sys.argv[1])))\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, json.dumps(servers)], cwd=tmp_path) as hub:
        run(until(lambda: len(marked(str(tmp_path))) >= begun))
        guardian = _guardian_of(hub.pid)
        hub.kill()
    run(until(lambda: not alive(guardian)))
    assert marked(str(tmp_path)) == []


def _guardian_of(hub: int) -> int:
    children = Path(f"/proc/{hub}/task/{hub}/children").read_text().split()
    return next(int(pid) for pid in children if b"guardian_program" in Path(f"/proc/{pid}/cmdline").read_bytes())


def _ignores(pid: int, number: signal.Signals) -> bool:
    ignored = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) >> (number - 1) & 1)
