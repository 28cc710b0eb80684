"""How servers end: with the hub, however it ends, and when they are taken out of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from kumihimo import Hub
from kumihimo.hub.configuration_file import from_value
from tests.hub.hub_kit import BOUND, Scripted, alive, run, until


def test_no_process_is_left_when_the_hub_ends(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "child", "does": "child"}, stubborn=True)
    waiting = Scripted(tmp_path, "waiting", greeting="never")

    async def end() -> list[int]:
        async with Hub(servers=[alpha.config, waiting.config]) as hub:
            pids: list[int] = json.loads((await hub.execute_tool("alpha:child")).data[0]["text"])
            connecting = asyncio.create_task(hub.execute_tool("waiting:anything"))
            await until(lambda: waiting.pids)
            assert all(map(alive, [*pids, *waiting.pids]))
            await hub.close()
            await connecting
            return pids

    async def ended() -> None:
        pids = [*(await end()), *alpha.pids, *waiting.pids]
        # Who was killed with its group is gone a moment later, and was nobody's child here.
        await until(lambda: not any(map(alive, pids)))

    run(ended())


def test_nobody_waits_for_the_end_of_a_server_that_was_taken_out(tmp_path: Path) -> None:
    old = Scripted(tmp_path, "old", {"name": "echo"}, stubborn=True)
    new = Scripted(tmp_path, "new", {"name": "echo"})

    async def change() -> None:
        async with Hub(servers=[old.config]) as hub:
            assert (await hub.execute_tool("old:echo")).success
            await hub.reconfigure(from_value({"servers": [new.config]}, {}, tmp_path, str))
            assert all(map(alive, old.pids))
            assert (await hub.execute_tool("old:echo")).error is not None
            assert (await hub.execute_tool("new:echo")).success
        # It was still to be ended, perhaps, and is not forgotten for that.
        assert not any(map(alive, old.pids))

    run(change())


def test_no_process_is_left_when_the_hub_ends_while_one_makes_room_for_another(tmp_path: Path) -> None:
    one = Scripted(tmp_path, "one", {"name": "echo"}, stubborn=True)
    two = Scripted(tmp_path, "two", {"name": "echo"})

    async def end() -> None:
        async with Hub(servers=[one.config, two.config], options={"maxConnections": 1}) as hub:
            assert (await hub.execute_tool("one:echo")).success
            waiting = asyncio.create_task(hub.execute_tool("two:echo"))
            await until(lambda: not hub.is_connected("one"))
        assert not any(map(alive, one.pids + two.pids))
        await waiting

    run(end())


def test_no_process_is_left_when_the_program_breaks_or_is_killed(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})
    program = (
        "import asyncio, json, os, sys\nfrom kumihimo import Hub\n"
        "async def main():\n"
        "    async with Hub(servers=[json.loads(sys.argv[1])]) as hub:\n"
        "        assert (await hub.execute_tool('alpha:echo')).success\n"
        "        exec(sys.argv[2])\n"
        "asyncio.run(main())\n"
    )
    for end in ("raise OSError", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 2); await asyncio.sleep(1000)"):
        ended = subprocess.run(
            [sys.executable, "-c", program, json.dumps(alpha.config), end],
            capture_output=True,
            timeout=BOUND,
            check=False,
        )
        assert ended.returncode != 0
        assert b"AssertionError" not in ended.stderr
    run(until(lambda: not any(map(alive, alpha.pids))))
    assert len(alpha.pids) == 3
