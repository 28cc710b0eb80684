"""Servers written into configuration files and taken out, with everything else left as it is."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from kumihimo.domain.errors import ConfigError, NameTaken
from kumihimo.hub.configuration_file import from_file
from kumihimo.hub.configuration_writing import add_server, entries_in, remove_server


def servers_in(file: Path) -> list[str]:
    return list(entries_in(file))


ENTRY: dict[str, Any] = {"transport": "stdio", "command": "run", "args": ["-x", "値: #1"]}
KEPT = """\
# what we use
options:
  timeout: 500   # short
servers:
  # the first one
  - name: one
    command: @scope/one   # as the design has it

  - name: two
    command: two
    env:
      A: "1"
    # of two

# the end
"""


def test_the_first_server_makes_the_file(tmp_path: Path) -> None:
    for name in ("mcp.config.yaml", ".mcp.json"):
        add_server(tmp_path / name, "one", ENTRY)
        assert servers_in(tmp_path / name) == ["one"]
    assert yaml.safe_load((tmp_path / "mcp.config.yaml").read_text()) == {"servers": [{"name": "one", **ENTRY}]}
    # That a command is on stdio need not be said to other clients, who call it otherwise.
    plain = {key: value for key, value in ENTRY.items() if key != "transport"}
    assert json.loads((tmp_path / ".mcp.json").read_text()) == {"mcpServers": {"one": plain}}


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"transport": "http", "url": "http://h/"}, "http"),
        ({"transport": "sse", "url": "http://h/"}, "sse"),
        ({"transport": "websocket", "url": "ws://h/"}, "ws"),
        ({"type": "streamable-http", "url": "http://h/"}, "http"),
        ({"url": "http://h/"}, "http"),
        ({"url": "wss://h/"}, "ws"),
    ],
)
def test_in_the_form_of_all_clients_a_url_has_the_type_that_they_read(
    tmp_path: Path, entry: dict[str, Any], kind: str
) -> None:
    for name in (".mcp.json", "mcp.config.yaml"):
        file = tmp_path / name
        file.write_text('{"mcpServers": {}}')
        add_server(file, "one", entry)
        assert entries_in(file) == {"one": {"type": kind, "url": entry["url"]}}
        transport = "websocket" if kind == "ws" else kind
        assert from_file(file, {}, tmp_path).servers[0].config.transport == transport
    ours = tmp_path / "ours.yaml"
    add_server(ours, "one", entry)
    assert entries_in(ours) == {"one": {"name": "one", **entry}}


def test_comments_order_and_everything_else_stay_when_servers_come_and_go(tmp_path: Path) -> None:
    file = tmp_path / "mcp.config.yaml"
    file.write_text(KEPT.replace("   # as the design has it", ""))
    file.chmod(0o600)
    before = file.read_text()
    add_server(file, "three", ENTRY)
    added = file.read_text()
    assert servers_in(file) == ["one", "two", "three"]
    assert [line for line in before.splitlines() if line not in added.splitlines()] == []
    remove_server(file, "three")
    assert file.read_text() == before
    assert file.stat().st_mode & 0o777 == 0o600
    remove_server(file, "one")
    left = file.read_text()
    assert servers_in(file) == ["two"]
    assert "# short" in left
    assert "# the end" in left


@pytest.mark.parametrize(
    "text",
    ["", "servers: []\n", "servers:\n", "options: {timeout: 5}\n", "servers: [{name: one, command: x}]\n",
     "{\"servers\": [{\"name\": \"one\", \"command\": \"x\"}]}", "mcpServers: {one: {command: x}}\n",
     "servers:\n- name: one\n  command: x", "servers:\n    - {name: one, command: x}\n"],
)  # fmt: skip
def test_a_file_of_any_shape_takes_a_server_and_gives_it_back(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mcp.config.yaml"
    file.write_text(text)
    before = yaml.safe_load(text) or {}
    names = servers_in(file)
    add_server(file, "new", ENTRY)
    assert servers_in(file) == [*names, "new"]
    remove_server(file, "new")
    after = yaml.safe_load(file.read_text())
    assert {key: value for key, value in after.items() if value} == {
        key: value for key, value in before.items() if value
    }


def test_a_name_that_is_taken_and_a_file_that_can_not_be_read_are_told_and_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mcp.config.yaml"
    add_server(file, "one", ENTRY)
    before = file.read_text()
    with pytest.raises(NameTaken, match="one"):
        add_server(file, "one", ENTRY)
    assert file.read_text() == before
    for broken in ("servers: [", "- a list\n"):
        file.write_text(broken)
        with pytest.raises(ConfigError, match=r"mcp\.config\.yaml"):
            add_server(file, "two", ENTRY)
        assert file.read_text() == broken
    with pytest.raises(ConfigError, match="nowhere"):
        add_server(tmp_path / "nowhere" / "mcp.config.yaml", "one", ENTRY)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / ".mcp.json"
    real.write_text("{}")
    link.symlink_to(real)
    add_server(link, "one", ENTRY)
    assert link.is_symlink()
    assert servers_in(real) == ["one"]


def test_of_many_who_write_at_once_nobody_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "mcp.config.yaml"
    names = [f"server{number}" for number in range(8)]
    threads = [threading.Thread(target=add_server, args=(file, name, ENTRY)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(servers_in(file)) == names
