"""What `kumi hub` writes into files of configuration, and what it finds there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kumihimo.settings import Flags, load
from kumihimo.surfaces.cli.phrases import HEADINGS_JA
from kumihimo.surfaces.cli.verbs import VERBS, Verb
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


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb.words.startswith("hub ") and verb.columns])
def test_the_tables_of_the_hub_speak_japanese_throughout(verb: Verb) -> None:
    assert [column for column in verb.columns if column not in HEADINGS_JA] == []


def test_a_table_of_the_hub_is_headed_in_japanese(kumi: Kumi, tmp_path: Path) -> None:
    (tmp_path / "shop" / "mcp.config.yaml").write_text("servers: [{name: one, command: x}]")
    shown = kumi("--lang", "ja", "hub", "ls").out.splitlines()[0]
    assert shown.split() == ["名前", "接続方式", "状態", "エラー"]


def test_who_takes_out_a_server_hears_which_file_still_names_it(kumi: Kumi, home: Path, tmp_path: Path) -> None:
    first, second, users = (
        tmp_path / "shop" / "mcp.config.yaml",
        tmp_path / "shop" / ".mcp.json",
        home / "mcp.config.yaml",
    )
    home.mkdir()
    for file in (first, second, users):
        file.write_text('{"mcpServers": {"one": {"command": "x"}, "two": {"command": "x"}}}')
    told = kumi("hub", "rm", "one").out
    assert f"is out of {first}, but {second} still names one" in told
    assert kumi("hub", "rm", "one", "--json").json == {"name": "one", "file": str(second), "stillIn": str(users)}
    assert kumi("hub", "rm", "one", "--json").json == {"name": "one", "file": str(users)}
    assert f"{second} にも同名のサーバー" in kumi("--lang", "ja", "hub", "rm", "two").out
    # What can't be read there is told by who reads it.
    users.write_text("{")
    assert "not behind the hub any more" in kumi("hub", "rm", "two").out


def test_what_is_put_into_the_file_of_other_clients_is_written_as_they_read_it(
    kumi: Kumi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    shop = tmp_path / "shop"
    (shop / ".mcp.json").write_text('{"mcpServers": {}}')
    (shop / ".cursor").mkdir()
    (shop / ".cursor" / "mcp.json").write_text('{"mcpServers": {"theirs": {"url": "https://b.example.test/mcp"}}}')
    assert kumi("hub", "add", "api", "--url", "https://example.test/mcp", "--header", "A=b").code == 0
    assert kumi("hub", "add", "files", "--", "npx", "files").code == 0
    assert kumi("hub", "import").code == 0
    assert json.loads((shop / ".mcp.json").read_text())["mcpServers"] == {
        "api": {"type": "http", "url": "https://example.test/mcp", "headers": {"A": "b"}},
        "files": {"command": "npx", "args": ["files"]},
        "theirs": {"type": "http", "url": "https://b.example.test/mcp"},
    }
