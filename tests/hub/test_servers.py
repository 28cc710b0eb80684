"""The servers of a hub: started when needed, started again, evicted, removed, and never left behind."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.domain.errors import ConfigError
from kumihimo.hub.errors import Code, HubError
from kumihimo.hub.upstream import COOLING_SECONDS, MOST_FAILURES
from tests.hub.hub_kit import NONE, READ, Scripted, StillTiming, alive, run, until


def state(hub: Hub, name: str) -> str:
    return next(str(server["state"]) for server in hub.servers() if server["name"] == name)


def test_a_server_is_started_when_it_is_first_needed_and_once_for_many_calls(tmp_path: Path) -> None:
    alpha, beta = (Scripted(tmp_path, name, {"name": f"echo_{name}"}) for name in ("alpha", "beta"))

    async def lazy() -> None:
        async with Hub(servers=[alpha.config, beta.config]) as hub:
            assert (state(hub, "alpha"), hub.is_connected("alpha"), alpha.pids) == ("idle", False, [])
            answers = await asyncio.gather(*(hub.execute_tool("alpha:echo_alpha", {"n": n}) for n in range(20)))
            assert [json.loads(answer.data[0]["text"])["arguments"]["n"] for answer in answers] == list(range(20))
            assert (state(hub, "alpha"), hub.is_connected("alpha"), len(alpha.pids)) == ("connected", True, 1)
            assert beta.pids == []

    run(lazy())


def test_servers_are_connected_in_parallel(tmp_path: Path) -> None:
    """None of them greets before all have been started: one after the other they would never be done."""
    go = tmp_path / "go"
    servers = [Scripted(tmp_path, f"s{n}", {"name": "echo"}, greeting=str(go)) for n in range(5)]

    async def parallel() -> None:
        async with Hub(servers=[server.config for server in servers]) as hub:
            listing = asyncio.create_task(hub.list_tools())
            await until(lambda: all(server.pids for server in servers))
            go.write_text("")
            await listing
            await until(lambda: all(hub.is_connected(server.name) for server in servers))

    run(parallel())


def test_a_base_environment_and_what_the_configuration_names_is_all_that_a_server_sees(tmp_path: Path) -> None:
    tool = {"name": "look", "does": "environment"}
    alpha = Scripted(tmp_path, "alpha", tool, config={"env": {"OWN": "pre-${OUTSIDE}-post", "ROOT": "${PROJECT_ROOT}"}})
    ours = {
        "PATH": os.environ["PATH"],
        "HOME": "/home",
        "LANG": "C",
        "TMPDIR": "/tmp",
        "https_proxy": "p",
        "TOKEN": "secret",
    }

    async def look() -> None:
        async with Hub(servers=[alpha.config], root=tmp_path, environ={**ours, "OUTSIDE": "value"}) as hub:
            seen = json.loads((await hub.execute_tool("look")).data[0]["text"])
        seen["env"].pop("LC_CTYPE", None)  # Python sets it for itself
        # By this what it leaves behind is known as ours.
        assert seen["env"].pop("KUMI_HUB_MARK")
        own = {"OWN": "pre-value-post", "ROOT": str(tmp_path)}
        assert seen["env"] == {**{name: value for name, value in ours.items() if name != "TOKEN"}, **own}
        assert seen["cwd"] == str(tmp_path)

    run(look())


def test_a_server_that_has_ended_by_itself_is_noticed_and_started_again(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"}, config={"retryPolicy": NONE})
    modern = Scripted(
        tmp_path, "modern", {"name": "echo"}, stateless=True, capabilities={}, config={"retryPolicy": NONE}
    )

    async def again() -> None:
        async with Hub(servers=[alpha.config, modern.config]) as hub:
            for server in (alpha, modern):
                assert (await hub.execute_tool(f"{server.name}:echo")).success
                os.kill(server.pids[0], signal.SIGKILL)
            await until(lambda: not hub.is_connected("alpha"))
            await until(lambda: not alive(modern.pids[0]))
            for server in (alpha, modern):
                assert (await hub.execute_tool(f"{server.name}:echo")).success
                assert len(server.pids) == 2

    run(again())


def test_a_server_that_fails_is_started_again_after_growing_waits_and_then_left_alone(tmp_path: Path) -> None:
    timing = StillTiming()
    policy = {"maxRetries": 0, "initialDelay": 1000, "maxDelay": 3000, "backoffMultiplier": 2}
    late = tmp_path / "late"
    config = {"name": "late", "command": str(late), "retryPolicy": policy}
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def fail() -> None:
        async with Hub(servers=[config], timing=timing) as hub:
            for _ in range(MOST_FAILURES + 1):
                answer = await hub.execute_tool("late:echo")
                assert answer.error is not None
                assert answer.error.code is Code.CONNECTION_FAILED
            assert timing.slept == pytest.approx([1.0, 2.0, 3.0, 3.0])
            starts = hub.servers()[0]["starts"]
            answer = await hub.execute_tool("late:echo")
            assert answer.error is not None
            assert "left alone" in answer.error.message
            assert hub.servers()[0]["starts"] == starts == MOST_FAILURES + 1
            assert state(hub, "late") == "failed"
            late.write_text(f"#!/bin/sh\nexec {sys.executable} {' '.join(alpha.config['args'])}\n")
            late.chmod(0o755)
            timing.at += COOLING_SECONDS
            assert (await hub.execute_tool("late:echo")).success
            assert state(hub, "late") == "connected"

    run(fail())


def test_a_server_that_dies_of_every_call_is_started_again_after_growing_waits_and_a_good_answer_ends_that(
    tmp_path: Path,
) -> None:
    timing = StillTiming()
    policy = {"maxRetries": 0, "initialDelay": 1000, "maxDelay": 3000, "backoffMultiplier": 2}
    alpha = Scripted(
        tmp_path, "alpha", {"name": "crash", "does": "crash"}, {"name": "fine"}, config={"retryPolicy": policy}
    )

    async def code(tool: str, hub: Hub) -> Code | None:
        error = (await hub.execute_tool(f"alpha:{tool}")).error
        return error.code if error else None

    async def die() -> None:
        async with Hub(servers=[alpha.config], timing=timing) as hub:
            for tool in ("crash", "crash", "fine", "crash"):
                assert await code(tool, hub) is (None if tool == "fine" else Code.DELIVERY_UNKNOWN)
            assert timing.slept == pytest.approx([1.0])
            for _ in range(MOST_FAILURES):
                assert await code("crash", hub) is Code.DELIVERY_UNKNOWN
            assert timing.slept == pytest.approx([1.0, 1.0, 2.0, 3.0, 3.0])
            assert await code("fine", hub) is Code.CONNECTION_FAILED
            assert alpha.calls("fine") == 1

    run(die())


def test_whoever_asks_for_it_connects_at_once_also_to_a_server_that_is_left_alone(tmp_path: Path) -> None:
    timing = StillTiming()

    async def fail() -> None:
        async with Hub(servers=[{"name": "ghost", "command": "/nobody", "retryPolicy": NONE}], timing=timing) as hub:
            for _ in range(MOST_FAILURES + 2):
                await hub.execute_tool("ghost:echo")
            starts = hub.servers()[0]["starts"]
            with pytest.raises(HubError, match="there is no program"):
                await hub.connect("ghost")
            assert hub.servers()[0]["starts"] == starts + 1

    run(fail())


def test_the_session_not_used_for_longest_makes_room_and_one_in_use_never_does(tmp_path: Path) -> None:
    go = tmp_path / "go"
    names = ("one", "two", "three")
    one, two, three = (
        Scripted(tmp_path, name, {"name": "echo"}, {"name": "wait", "does": "wait", "file": str(go)}) for name in names
    )

    async def room() -> None:
        servers = [one.config, two.config, three.config]
        async with Hub(servers=servers, options={"maxConnections": 2}) as hub:
            for name in ("one", "two", "one"):
                assert (await hub.execute_tool(f"{name}:echo")).success
            assert (await hub.execute_tool("three:echo")).success
            assert [hub.is_connected(name) for name in names] == [True, False, True]
            busy = [asyncio.create_task(hub.execute_tool(f"{name}:wait")) for name in ("one", "three")]
            await until(lambda: one.calls("wait") and three.calls("wait"))
            waiting = asyncio.create_task(hub.execute_tool("two:echo"))
            await until(lambda: state(hub, "two") == "connecting")
            # Whoever looks for room does so within these turns of the loop.
            for _ in range(20):
                await asyncio.sleep(0)
            assert [hub.is_connected(name) for name in names] == [True, False, True]
            assert not waiting.done()
            go.write_text("")
            assert (await waiting).success
            assert [(await task).success for task in busy] == [True, True]
            assert sum(hub.is_connected(name) for name in names) == 2

    run(room())


def test_a_server_can_be_added_and_removed_while_the_hub_runs(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "hang", "does": "never"}, {"name": "read", "does": "never", **READ})
    alpha.config["retryPolicy"] = NONE

    async def change() -> None:
        async with Hub() as hub:
            await hub.register_server(alpha.config)
            assert hub.is_connected("alpha")
            with pytest.raises(ConfigError, match="Two servers"):
                await hub.register_server(alpha.config)
            calls = [asyncio.create_task(hub.execute_tool(f"alpha:{name}")) for name in ("hang", "read")]
            await until(lambda: alpha.calls("hang") and alpha.calls("read"))
            await hub.remove_server("alpha")
            told = [(await call).error for call in calls]
            assert [error.code if error else None for error in told] == [Code.DELIVERY_UNKNOWN, Code.CONNECTION_LOST]
            gone = (await hub.execute_tool("alpha:hang")).error
            assert gone is not None
            assert gone.code is Code.TOOL_NOT_FOUND
            assert hub.servers() == []
            assert not alive(alpha.pids[0])

    run(change())


def test_a_disconnected_server_is_connected_again_by_the_next_call(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"})

    async def again() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            await hub.connect("alpha")
            await hub.disconnect("alpha")
            assert (hub.is_connected("alpha"), alive(alpha.pids[0])) == (False, False)
            assert (await hub.execute_tool("echo")).success
            assert hub.is_connected("alpha")
        assert not hub.is_connected("alpha")

    run(again())


def test_a_server_with_an_instance_per_worktree_is_shared_by_none(tmp_path: Path) -> None:
    tool = {"name": "look", "does": "environment"}
    config = {"per_worktree": True, "env": {"ROOT": "${PROJECT_ROOT}"}}
    own, shared = Scripted(tmp_path, "own", tool, config=config), Scripted(tmp_path, "shared", tool)
    trees = [tmp_path / "a", tmp_path / "b"]
    for tree in trees:
        tree.mkdir()

    async def look() -> None:
        async with Hub(servers=[own.config, shared.config], root=tmp_path) as hub:
            for tree in (*trees, *trees):
                seen = json.loads((await hub.execute_tool("own:look", worktree=tree)).data[0]["text"])
                assert (seen["cwd"], seen["env"]["ROOT"]) == (str(tree), str(tree))
                assert (await hub.execute_tool("shared:look", worktree=tree)).success
            assert (len(own.pids), len(shared.pids)) == (2, 1)

    run(look())


def test_a_changed_list_is_asked_for_again_and_a_restless_one_is_still_used(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "change", "does": "change"}, {"name": "echo"})
    restless = Scripted(tmp_path, "restless", {"name": "work"}, lists="restless")
    hasty = Scripted(tmp_path, "hasty", {"name": "work"}, lists="hasty")

    async def changed() -> None:
        async with Hub(servers=[alpha.config, restless.config, hasty.config]) as hub:
            assert await hub.get_tool("alpha:new") is None
            assert (await hub.execute_tool("alpha:echo")).success
            assert alpha.lines("list") == 1
            assert (await hub.execute_tool("alpha:change", {"name": "new"})).success
            assert (await hub.execute_tool("alpha:new")).success
            assert alpha.lines("list") == 2
            for _ in range(10):
                assert (await hub.execute_tool("restless:work")).success
            assert restless.calls("work") == 10
            # What has changed while it was told is not kept.
            for times in (1, 2):
                assert (await hub.execute_tool("hasty:work")).success
                assert hasty.lines("list") == times

    run(changed())


def test_a_list_of_a_server_that_tells_no_changes_is_asked_for_again_after_a_minute(tmp_path: Path) -> None:
    timing = StillTiming()
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"}, capabilities={"tools": {}})

    async def old() -> None:
        async with Hub(servers=[alpha.config], timing=timing) as hub:
            for at, lists in ((0.0, 1), (59.0, 1), (2.0, 2)):
                timing.at += at
                assert (await hub.execute_tool("alpha:echo")).success
                assert alpha.lines("list") == lists

    run(old())


@pytest.mark.parametrize(("told", "kept"), [(5_000, 5.0), (0, 1.0), (600_000, 600.0), ("soon", 60.0)])
def test_a_list_with_a_time_on_it_is_kept_for_that_time(tmp_path: Path, told: object, kept: float) -> None:
    timing = StillTiming()
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"}, capabilities={"tools": {}}, listing={"ttlMs": told})

    async def old() -> None:
        async with Hub(servers=[alpha.config], timing=timing) as hub:
            for at, lists in ((0.0, 1), (kept - 0.1, 1), (0.2, 2)):
                timing.at += at
                assert (await hub.execute_tool("alpha:echo")).success
                assert alpha.lines("list") == lists

    run(old())


@pytest.mark.parametrize(
    "config",
    [{"transport": "websocket", "url": "ws://127.0.0.1:9/"}, {"command": "x", "sandbox": {"read": ["/nobody"]}}],
)
def test_what_can_not_be_had_is_refused_with_a_reason(config: dict[str, Any]) -> None:
    async def refused() -> None:
        async with Hub(servers=[{"name": "alpha", "retryPolicy": NONE, **config}]) as hub:
            error = (await hub.execute_tool("alpha:echo")).error
            assert error is not None
            assert error.code is (Code.CANNOT_EXECUTE if "sandbox" in config else Code.CONNECTION_FAILED)
            assert "alpha" in error.message

    run(refused())


def test_a_session_that_nobody_waits_for_any_more_makes_room_as_soon_as_it_is_there(tmp_path: Path) -> None:
    slow = Scripted(tmp_path, "slow", {"name": "echo"}, greeting=str(tmp_path / "go"), config={"retryPolicy": NONE})
    other = Scripted(tmp_path, "other", {"name": "echo"}, config={"retryPolicy": NONE})

    async def crowded() -> None:
        async with Hub(servers=[slow.config, other.config], options={"maxConnections": 1}) as hub:
            late = await hub.execute_tool("slow:echo", timeout_ms=50)
            assert late.error is not None
            waiting = asyncio.ensure_future(hub.execute_tool("other:echo"))
            await until(lambda: bool(slow.pids))
            (tmp_path / "go").touch()
            assert (await waiting).success

    run(crowded())


def test_a_session_that_is_opened_anew_while_the_last_opening_is_called_off_keeps_its_room(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"}, greeting=str(tmp_path / "go"))
    beta = Scripted(tmp_path, "beta", {"name": "echo"})

    async def crowded() -> None:
        async with Hub(servers=[alpha.config, beta.config], options={"maxConnections": 1}) as hub:
            first = asyncio.ensure_future(hub.execute_tool("alpha:echo"))
            await until(lambda: len(alpha.pids) == 1)
            ending = asyncio.ensure_future(hub.disconnect("alpha"))
            second = asyncio.ensure_future(hub.execute_tool("alpha:echo"))
            await ending
            (tmp_path / "go").touch()
            await asyncio.gather(first, second)
            assert second.result().success
            assert (await hub.execute_tool("beta:echo")).success
            assert [hub.is_connected(name) for name in ("alpha", "beta")] == [False, True]

    run(crowded())


def test_where_no_guardian_can_be_started_no_server_is_and_it_is_said_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "echo"}, config={"retryPolicy": NONE})

    def refuse() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def calls() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            with monkeypatch.context() as patched:
                patched.setattr(hub._registry, "_before_start", refuse)
                error = (await hub.execute_tool("alpha:echo")).error
                assert error is not None
                assert error.code is Code.CONNECTION_FAILED
                assert "Too many open files" in error.message
                assert alpha.pids == []
            assert (await hub.execute_tool("alpha:echo")).success

    run(calls())
