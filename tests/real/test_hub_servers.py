"""The servers that people use, through one hub: what they offer, many at once, and one that dies among them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.call import Asking
from kumihimo.hub.errors import Code
from kumihimo.hub.results import Answer
from tests.hub.hub_kit import NONE, run, until
from tests.hub.processes import MARK, marked
from tests.real.servers import PYTHON, REFERENCE, alone

pytestmark = pytest.mark.real
SECONDS = 300.0
NAMES = ("everything", "filesystem", "memory", "git", "time")


def configured(folder: Path, repository: Path) -> dict[str, dict[str, Any]]:
    """Each with a mark of its own, by which it and what it starts can be found."""
    said: dict[str, tuple[Path, list[str], dict[str, str]]] = {
        "everything": (REFERENCE.program("mcp-server-everything"), ["stdio"], {}),
        "filesystem": (REFERENCE.program("mcp-server-filesystem"), [str(repository)], {}),
        "memory": (REFERENCE.program("mcp-server-memory"), [], {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}),
        "git": (PYTHON.program("mcp-server-git"), ["--repository", str(repository)], {}),
        "time": (PYTHON.program("mcp-server-time"), ["--local-timezone", "UTC"], {}),
    }
    return {
        name: {
            "name": name,
            "command": str(command),
            "args": args,
            "env": {MARK: f"{folder}/{name}", **env},
            "timeout": 60_000,
            "retryPolicy": NONE,
        }
        for name, (command, args, env) in said.items()
    }


def repository(folder: Path) -> Path:
    made = folder / "repository"
    made.mkdir()
    (made / "note.txt").write_text("a note\n")
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.test"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], [*who, "commit", "-q", "-m", "First note"]):
        subprocess.run(["git", *words], cwd=made, check=True)
    return made


@asynccontextmanager
async def everyone(folder: Path) -> AsyncGenerator[tuple[Hub, Path]]:
    repo = repository(folder)
    servers = list(configured(folder, repo).values())
    async with Hub(servers=servers, root=folder, environ=alone(folder / "home")) as hub:
        yield hub, repo
    assert [pid for name in NAMES for pid in marked(f"{folder}/{name}")] == []


def text(answer: Answer) -> str:
    """What it says, as text or as values, to look into."""
    assert answer.success, answer.error
    return json.dumps(answer.data)


def calls(repo: Path) -> list[dict[str, Any]]:
    entity = {"name": "kumihimo", "entityType": "braid", "observations": ["eight strands"]}
    return [
        {"tool": "everything:get-sum", "params": {"a": 2, "b": 40}},
        {"tool": "filesystem:read_text_file", "params": {"path": str(repo / "note.txt")}},
        {"tool": "memory:create_entities", "params": {"entities": [entity]}},
        {"tool": "git:git_log", "params": {"repo_path": str(repo)}},
        {
            "tool": "time:convert_time",
            "params": {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
        },
    ]


SAID = ("42", "a note", "kumihimo", "First note", "21:00")


def test_every_server_is_listed_and_a_batch_across_all_is_answered_in_order(tmp_path: Path) -> None:
    async def batch() -> None:
        async with everyone(tmp_path) as (hub, repo):
            tools = {tool.name for tool in await hub.list_tools()}
            assert {call["tool"] for call in calls(repo)} < tools
            answers = await hub.execute_parallel(calls(repo) * 4)
            for at, answer in enumerate(answers):
                assert SAID[at % len(SAID)] in text(answer) or NAMES[at % len(SAID)] == "memory"
                assert answer.metadata.server == NAMES[at % len(SAID)]
            assert "eight strands" in text(await hub.execute_tool("read_graph"))
            assert [server["starts"] for server in hub.servers()] == [1] * len(NAMES)
            # What is wrong is refused here, or told by the server; it goes on.
            wrong = await hub.execute_tool("everything:get-sum", {"a": "two"})
            assert wrong.error is not None
            assert (wrong.error.code, wrong.metadata.attempts) == (Code.INVALID_PARAMS, 0)
            outside = await hub.execute_tool("filesystem:read_text_file", {"path": "/etc/hostname"})
            assert outside.error is not None
            assert outside.error.code is Code.EXECUTION_FAILED

    run(batch(), SECONDS)


def test_resources_and_prompts_are_listed_and_read(tmp_path: Path) -> None:
    async def offers() -> None:
        async with everyone(tmp_path) as (hub, _):
            resources = await hub.list_resources("everything")
            contents = await hub.read_resource(resources[0]["uri"])
            assert contents[0]["text"]
            assert (await hub.read_resource("demo://resource/dynamic/text/7"))[0]["uri"].endswith("/7")
            prompts = {prompt["name"] for prompt in await hub.list_prompts()}
            assert {"simple-prompt", "args-prompt"} <= prompts
            assert "Kyoto" in await hub.execute_prompt("everything:args-prompt", {"city": "Kyoto"})

    run(offers(), SECONDS)


def test_how_far_a_long_call_is_can_be_heard(tmp_path: Path) -> None:
    heard: list[float] = []

    async def progress() -> None:
        async with everyone(tmp_path) as (hub, _):
            asking = Asking(on_progress=lambda done, _total, _message: heard.append(done))
            params = {"duration": 1, "steps": 4}
            answer = await hub.execute_tool("everything:trigger-long-running-operation", params, asking=asking)
            assert answer.success, answer.error

    run(progress(), SECONDS)
    assert heard == sorted(heard)
    assert heard[-1] == 4


def taken(pid: int) -> int:
    """How many bytes a process has read so far."""
    return int(Path(f"/proc/{pid}/io").read_text().split("rchar: ")[1].split()[0])


def test_one_that_is_killed_in_the_middle_is_told_and_started_again_while_the_others_go_on(tmp_path: Path) -> None:
    async def kill() -> None:
        async with everyone(tmp_path) as (hub, repo):
            assert "42" in text(await hub.execute_tool("everything:get-sum", {"a": 2, "b": 40}))
            (pid,) = marked(f"{tmp_path}/everything")
            before = taken(pid)
            params = {"duration": 600, "steps": 6000}
            name = "everything:trigger-long-running-operation"
            long = asyncio.create_task(hub.execute_tool(name, params, timeout_ms=600_000))
            # It has the whole of the call, and is at work.
            await until(lambda: taken(pid) > before + 100)
            others = asyncio.create_task(hub.execute_parallel(calls(repo)[1:] * 10))
            os.kill(pid, signal.SIGKILL)
            error = (await long).error
            assert error is not None
            assert error.code is Code.CONNECTION_LOST
            assert all(answer.success for answer in await others)
            assert "42" in text(await hub.execute_tool("everything:get-sum", {"a": 2, "b": 40}))
            starts = {server["name"]: server["starts"] for server in hub.servers()}
            assert starts == {**dict.fromkeys(NAMES, 1), "everything": 2}

    run(kill(), SECONDS)


def test_real_servers_run_in_a_sandbox_and_see_only_what_is_named(tmp_path: Path) -> None:
    tried = shutil.which("bwrap") and subprocess.run(
        ["bwrap", "--unshare-net", "--ro-bind", "/", "/", "true"], check=False
    )
    if not tried or tried.returncode:
        pytest.skip("bwrap is not installed, or does not work on this machine")
    repo, hidden = repository(tmp_path), tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "secret.txt").write_text("a secret\n")
    servers = configured(tmp_path, repo)
    filesystem, clock = servers["filesystem"], servers["time"]
    filesystem["args"] = [str(repo), str(hidden)]

    async def walled() -> None:
        async with Hub(servers=[filesystem, clock], root=tmp_path, environ=alone(tmp_path / "home")) as hub:
            note = await hub.execute_tool("filesystem:read_text_file", {"path": str(repo / "note.txt")})
            assert "a note" in text(note)
            secret = await hub.execute_tool("filesystem:read_text_file", {"path": str(hidden / "secret.txt")})
            assert not secret.success
            new = {"path": str(repo / "new.txt"), "content": "new"}
            assert not (await hub.execute_tool("filesystem:write_file", new)).success
            assert "21:00" in text(await hub.execute_tool(**calls_by_tool("time:convert_time", repo)))

    async def told() -> None:
        """What a server needs to see is not guessed: it is said by the refusal, until nothing is missing."""
        for config in (filesystem, clock):
            config["sandbox"] = {"read": [str(repo)]}
            async with Hub(servers=[config], root=tmp_path, environ=alone(tmp_path / "home")) as hub:
                error = (await hub.execute_tool(f"{config['name']}:anything")).error
                assert error is not None
                assert error.code is Code.CANNOT_EXECUTE
                config["sandbox"]["read"] += (error.details or {})["read"]

    run(told(), SECONDS)
    run(walled(), SECONDS)
    run(until(lambda: not marked(f"{tmp_path}/filesystem") and not marked(f"{tmp_path}/time")))


def calls_by_tool(tool: str, repo: Path) -> dict[str, Any]:
    call = next(call for call in calls(repo) if call["tool"] == tool)
    return {"name": call["tool"], "params": call["params"]}
