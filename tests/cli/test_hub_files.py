"""What `kumi hub` writes into files of configuration, and what it finds there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kumihimo.settings import Flags, load
from tests.cli.conftest import Kumi


def test_what_setup_writes_puts_nothing_behind_the_hub(kumi: Kumi, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir()
    assert kumi("setup", "claude", "--scope", "repo").code == 0
    entries = json.loads((folder / ".mcp.json").read_text())["mcpServers"]
    assert entries["kumihimo"]["args"] == ["mcp", "serve"]
    for more in ([], ["--config", folder / ".mcp.json"]):
        assert kumi("hub", "ls", "--json", *more).json == {"servers": []}
        called = kumi("hub", "call", "kumihimo:create_task", '{"title": "as the owner"}', *more)
        assert (called.code, "TOOL_NOT_FOUND" in called.err) == (1, True)
    assert load(Flags(), {"KUMI_HOME": str(tmp_path)}, folder).door_path(folder) == "/mcp/worker"
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {**entries, "other": {"command": "x"}}}))
    assert load(Flags(), {"KUMI_HOME": str(tmp_path)}, folder).door_path(folder) == "/mcp/hub,worker"


@pytest.mark.parametrize(
    "words", [["--", "kumi", "mcp", "serve"], ["--url", "http://127.0.0.1:9696/mcp/lead"], ["--", "${PROGRAM}", "mcp", "serve"]]
)  # fmt: skip
def test_we_are_not_added(kumi: Kumi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.setenv("PROGRAM", "/opt/bin/kumi")
    refused = kumi("hub", "add", "ours", *words)
    assert (refused.code, "that is Kumihimo itself" in refused.err) == (2, True)
    assert not (tmp_path / "shop" / "mcp.config.yaml").exists()
