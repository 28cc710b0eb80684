"""What the page about the hub shows is what it does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import yaml

from kumihimo.hub.configuration_file import from_file
from kumihimo.settings import Flags, load
from tests.hub.hub_kit import Scripted

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "use-the-hub.md"


def block(language: str) -> str:
    """The first one in this language."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_the_example_in_python_runs_as_it_stands(tmp_path: Path) -> None:
    zone = {"type": "object", "properties": {"zone": {"type": "string"}}, "required": ["zone"]}
    clock = Scripted(tmp_path, "clock", {"name": "now", "inputSchema": zone, "description": "What time it is."})
    (tmp_path / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": [clock.config]}))
    done = subprocess.run(
        [sys.executable, "-c", block("python")], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    first, *_, last = done.stdout.splitlines()
    assert first == "clock:now - What time it is."
    assert last == "2 of 2"
    assert clock.calls("now") == 3


def test_the_configuration_on_the_page_is_one(tmp_path: Path) -> None:
    file = tmp_path / "mcp.config.yaml"
    file.write_text(block("yaml"))
    found = from_file(file, {"API_KEY": "k"}, tmp_path)
    assert [server.name for server in found.servers] == ["files", "api", "serena"]
    assert found.servers[0].config.sandbox is not None
    (tmp_path / "kumi.toml").write_text(block("toml"))
    settings = load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path)
    assert settings.agents["reviewer"].hub.deny == ("files:write_file",)
    assert settings.hub.budget == 25000
