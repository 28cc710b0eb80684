"""The official Inspector's command line on our doors: what people try first when a server does not work."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kumihimo.toolsets.registry import toolset
from tests.interop.house import BOUND_SECONDS, House
from tests.interop.packages import inspector, node_22

pytestmark = pytest.mark.xdist_group("node")
TRANSPORTS = ("stdio", "http")
MISSING = "tsk_000000000000"


class Inspector:
    def __init__(self, house: House, home: Path) -> None:
        self._house = house
        self._start = [str(node_22() / "node"), str(inspector()), "--cli"]
        # It keeps a folder of its own at home.
        path = f"{node_22()}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**house.environment, "HOME": str(home), "PATH": path}

    def run(self, transport: str, toolset: str, *words: str) -> subprocess.CompletedProcess[str]:
        target = self._http(toolset) if transport == "http" else self._stdio(toolset)
        return subprocess.run(
            [*self._start, "--format", "json", *words, *target], cwd=self._house.folder, env=self._environment,
            capture_output=True, text=True, check=False, timeout=BOUND_SECONDS,
        )  # fmt: skip

    def ask(self, transport: str, toolset: str, *words: str) -> Any:
        done = self.run(transport, toolset, *words)
        assert done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}"
        return json.loads(done.stdout)["result"]

    def _stdio(self, toolset: str) -> list[str]:
        door = self._house.stdio(toolset)
        # A server gets almost nothing of the Inspector's environment unless it is said.
        given = [word for name in ("KUMI_HOME", "KUMI_LANG") for word in ("-e", f"{name}={door['env'][name]}")]
        return [*given, "--", door["command"], *door["args"]]

    def _http(self, toolset: str) -> list[str]:
        door = self._house.http(toolset)
        [(name, value)] = door["headers"].items()
        return ["--transport", "http", "--header", f"{name}: {value}", "--server-url", door["url"]]


@pytest.fixture(scope="module")
def inspect(house: House, tmp_path_factory: pytest.TempPathFactory) -> Inspector:
    return Inspector(house, tmp_path_factory.mktemp("inspector"))


@pytest.mark.parametrize("name", ["manager", "editor", "worker", "runner"])
def test_no_schema_of_a_tool_is_found_wanting(inspect: Inspector, name: str) -> None:
    listed = inspect.ask("stdio", name, "--method", "tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in toolset(name).tools]


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_tool_is_called(inspect: Inspector, house: House, transport: str, era: str) -> None:
    task = house.task("Look at me")
    words = ("--tool-name", "get_task", "--tool-arg", f"task_id={task.id}", "--protocol-era", era)
    answer = inspect.ask(transport, "manager", "--method", "tools/call", *words)
    assert answer["structuredContent"]["task"]["title"] == "Look at me"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_tools_are_listed_and_resources_read(inspect: Inspector, house: House, transport: str) -> None:
    task = house.task("Read me")
    listed = inspect.ask(transport, "editor", "--method", "tools/list")["tools"]
    assert "task_create" in [tool["name"] for tool in listed]
    (read,) = inspect.ask(transport, "editor", "--method", "resources/read", "--uri", f"task://{task.number}")[
        "contents"
    ]
    assert json.loads(read["text"])["title"] == "Read me"


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_refusal_is_shown_with_its_reason(inspect: Inspector, transport: str) -> None:
    call = ("--method", "tools/call", "--tool-name")
    edited = inspect.run(transport, "editor", *call, "task_get", "--tool-arg", f"id={MISSING}")
    assert edited.returncode == 1
    assert MISSING in edited.stderr
    managed = inspect.run(transport, "manager", *call, "get_task", "--tool-arg", f"task_id={MISSING}")
    assert MISSING in managed.stdout + managed.stderr
