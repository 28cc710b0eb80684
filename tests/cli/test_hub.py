"""`kumi hub`: other MCP servers from the terminal."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kumihimo.domain.hub_call import KIND
from kumihimo.hub import lists
from kumihimo.hub.settling import COMMAND, Settling
from kumihimo.settings import Settings
from kumihimo.store.store import open_store
from kumihimo.surfaces.hubs import hubs
from kumihimo.surfaces.hubs.watched_hub import WatchedHub
from tests.cli.conftest import Kumi
from tests.hub.hub_kit import SERVER, Scripted, alive

ADD = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def put(file: Path, *servers: Scripted, **more: Any) -> None:
    file.write_text(yaml.safe_dump({"servers": [server.config for server in servers], **more}))


@pytest.fixture
def alpha(tmp_path: Path) -> Scripted:
    return Scripted(
        tmp_path,
        "alpha",
        {"name": "add", "inputSchema": ADD, "description": "Adds."},
        {"name": "bad", "does": "error"},
        {"name": "number", "does": "structured"},
        prompts=[{"name": "greet"}],
        resources=[{"uri": "note://one", "name": "one"}],
    )


@pytest.fixture
def here(kumi: Kumi, tmp_path: Path, alpha: Scripted) -> Path:
    """Where commands are typed: a folder with servers behind its hub, of which one can't be started."""
    del kumi
    folder = tmp_path / "shop"
    ghost = {"name": "ghost", "command": str(tmp_path / "nothing"), "retryPolicy": {"maxRetries": 0}}
    (folder / "mcp.config.yaml").write_text(yaml.safe_dump({"servers": [alpha.config, ghost]}))
    return folder


def test_a_command_waits_for_a_slow_server_as_long_as_that_may_take(
    kumi: Kumi, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hub is gone with it: what is late for it would be late each time. Agents ask again, and wait less."""
    monkeypatch.setattr(lists, "QUIET_SECONDS", 0.0)
    given: list[Settling] = []

    def note(folder: Path, settings: Settings, settling: Settling) -> WatchedHub:
        given.append(settling)
        return WatchedHub(folder, settings, settling)

    monkeypatch.setattr(hubs, "WatchedHub", note)
    told = kumi("hub", "tools", "--json")
    found = told.json
    assert [it["server"] for it in found["tools"]] == ["alpha"] * 3
    assert [it["server"] for it in found["unreachable"]] == ["ghost"]
    assert [it._replace(tell=None) for it in given] == [COMMAND]
    assert re.match("Still waiting for alpha.*: each has as long as its .timeout. says.", told.err)
    assert here.is_dir()


def test_servers_tools_prompts_and_resources_are_shown(kumi: Kumi, here: Path) -> None:
    assert here.is_dir()
    assert [it["name"] for it in kumi("hub", "ls", "--json").json["servers"]] == ["alpha", "ghost"]
    assert "alpha" in kumi("hub", "ls").out
    assert [it["name"] for it in kumi("hub", "tools", "add", "--json").json["tools"]] == ["alpha:add"]
    assert "alpha:number" in kumi("hub", "tools").out
    assert kumi("hub", "describe", "alpha:add", "--json").json["inputSchema"] == ADD
    assert '"type": "integer"' in kumi("hub", "describe", "alpha:add").out
    assert [it["name"] for it in kumi("hub", "prompts", "--json").json["prompts"]] == ["greet"]
    assert [it["uri"] for it in kumi("hub", "resources", "--json").json["resources"]] == ["note://one"]
    assert kumi("hub", "read", "alpha", "note://one", "--json").json["contents"][0]["text"] == "read 1"
    missing = kumi("hub", "describe", "alpha:nope")
    assert missing.code == 5
    assert "TOOL_NOT_FOUND" in missing.err


def test_of_a_long_description_a_list_shows_what_it_says_first(kumi: Kumi, tmp_path: Path) -> None:
    told = {
        "one": "Reads a file, e.g. a.txt v1.2. Handles encodings.\n\nUse it with care.",
        "two": "ファイルを読みます。気をつけて使います。",
        "three": "word " * 60,
        "four": "字" * 80,
    }
    server = Scripted(tmp_path, "long", *({"name": name, "description": text} for name, text in told.items()))
    put(tmp_path / "shop" / "mcp.config.yaml", server)
    shown = {line.split()[0]: line.split(maxsplit=2)[2] for line in kumi("hub", "tools").out.splitlines()[1:]}
    assert shown["long:one"] == "Reads a file, e.g. a.txt v1.2."
    assert shown["long:two"] == "ファイルを読みます。"
    assert shown["long:three"] == ("word " * 60)[:99] + "…"
    assert shown["long:four"] == "字" * 49 + "…"
    # All of it is there for who asks for it.
    assert kumi("hub", "tools", "--json").json["tools"][0]["description"] == told["one"]
    assert "Use it with care." in kumi("hub", "describe", "long:one").out


def test_a_call_shows_what_came_and_fails_where_it_failed(kumi: Kumi, here: Path, alpha: Scripted) -> None:
    assert here.is_dir()
    done = kumi("hub", "call", "alpha:add", '{"a": 1}')
    assert (done.code, json.loads(done.out)) == (0, {"tool": "add", "arguments": {"a": 1}})
    assert json.loads(kumi("hub", "call", "number").out) == {"n": 1}
    assert kumi("hub", "call", "alpha:number", "--json").json["metadata"]["server"] == "alpha"
    assert kumi("hub", "call", "alpha:add", "-", stdin=b'{"a": 2}').code == 0
    for tool, code in (
        ("alpha:bad", "EXECUTION_FAILED"),
        ("ghost:any", "CONNECTION_FAILED"),
        ("add", "INVALID_PARAMS"),
    ):
        failed = kumi("hub", "call", tool)
        assert failed.code == 1
        assert code in failed.err
        assert kumi("hub", "call", tool, "--json").json["error"]["code"] == code
    for bad in ("{not json", "[1]", "7", '{"a": "\udcff"}', "[" * 5000):
        assert kumi("hub", "call", "alpha:add", bad).code == 2
    assert kumi("hub", "call", "alpha:\udcff").code == 2
    missed = kumi("hub", "call", "alpha:add", "@no-such-file.json")
    assert (missed.code, "no-such-file.json" in missed.err) == (2, True)
    assert not any(map(alive, alpha.pids))


def test_a_batch_answers_one_result_for_each_call_and_fails_where_one_failed(kumi: Kumi, here: Path) -> None:
    calls = [{"tool": "alpha:add", "params": {"a": 1}}, {"tool": "alpha:nope"}, {"tool": "alpha:number", "params": {}}]
    (here / "calls.json").write_text(json.dumps(calls))
    done = kumi("hub", "batch", "calls.json", "--json")
    assert [it["success"] for it in done.json["results"]] == [True, False, True]
    assert done.code == 1
    assert "TOOL_NOT_FOUND" in kumi("hub", "batch", "calls.json").out
    good = json.dumps(calls[:1]).encode()
    assert kumi("hub", "batch", "-", stdin=good).code == 0
    for bad in (b"{}", b"[", b'[{"params": {}}]'):
        assert kumi("hub", "batch", "-", stdin=bad).code == 2
    assert kumi("hub", "batch", "nothing.json").code == 2


def test_a_test_connects_and_says_which_servers_do_not_work(kumi: Kumi, here: Path) -> None:
    assert here.is_dir()
    tried = kumi("hub", "test", "--json")
    assert [(it["name"], it["ok"]) for it in tried.json["servers"]] == [("alpha", True), ("ghost", False)]
    assert tried.code == 1
    assert kumi("hub", "test", "alpha").code == 0
    for words in (
        ("test", "nobody"),
        ("tools", "--server", "nobody"),
        ("prompts", "--server", "nobody"),
        ("resources", "--server", "nobody"),
        ("read", "nobody", "note://one"),
        ("read", "alpha", "note://none"),
    ):
        assert kumi("hub", *words).code == 5


def test_stats_tell_what_the_schemas_cost_and_what_is_too_much(kumi: Kumi, here: Path) -> None:
    kumi("hub", "call", "alpha:number")
    kumi("hub", "call", "alpha:bad")
    told = kumi("hub", "stats", "--json").json
    # Other processes have made these calls: they are on record.
    assert (told["servers"][0]["calls"], told["servers"][0]["errors"]) == (2, {"EXECUTION_FAILED": 1})
    assert told["servers"][0]["schemaTokens"] > 30
    assert told["overBudget"] is False
    (here / "kumi.toml").write_text("[hub]\nbudget = 10\n")
    assert kumi("hub", "stats", "--json").json["overBudget"] is True
    assert "10" in kumi("hub", "stats").err


def test_a_list_of_tools_says_of_which_servers_there_are_none_in_it(kumi: Kumi, here: Path) -> None:
    assert here.is_dir()
    found = kumi("hub", "tools", "add")
    assert found.code == 0
    assert "alpha:add" in found.out
    assert "missing here: ghost: " in found.err
    assert [it["server"] for it in kumi("hub", "tools", "--json").json["unreachable"]] == ["ghost"]
    assert kumi("hub", "tools", "--server", "alpha").err == ""
    assert kumi("hub", "rm", "ghost").code == 0
    assert kumi("hub", "tools", "add").err == ""
    assert kumi("hub", "tools", "no-tool-is-called-so", "--json").json == {"tools": [], "unreachable": []}


def test_servers_are_added_and_taken_out(kumi: Kumi, home: Path, tmp_path: Path, alpha: Scripted) -> None:
    script = tmp_path / "alpha.json"
    command = [sys.executable, "-I", "-S", str(SERVER), str(script)]
    added = kumi("hub", "add", "late", "--env", "KEY=${LANG}", "--", *command)
    assert added.code == 0
    assert "kumi hub test late" in added.out
    assert kumi("hub", "call", "late:add", '{"a": 1}').code == 0
    taken = kumi("hub", "add", "late", "--", "x")
    assert (taken.code, "server is called 'late' already" in taken.err) == (2, True)
    assert kumi("hub", "add", "api", "--url", "ws://127.0.0.1:9/mcp", "--header", "A=b", "--json").json["name"] == "api"
    entries = {it["name"]: it for it in yaml.safe_load((tmp_path / "shop/mcp.config.yaml").read_text())["servers"]}
    assert entries["late"]["env"] == {"KEY": "${LANG}"}
    assert entries["api"] == {
        "name": "api",
        "transport": "websocket",
        "url": "ws://127.0.0.1:9/mcp",
        "headers": {"A": "b"},
    }
    assert kumi("hub", "rm", "api").code == 0
    assert [it["name"] for it in kumi("hub", "ls", "--json").json["servers"]] == ["late"]
    for verb in ("rm", "login", "logout"):
        gone = kumi("hub", verb, "lat")
        assert (gone.code, "Did you mean 'late'?" in gone.err) == (5, True)
    before = (tmp_path / "shop/mcp.config.yaml").read_text()
    for bad in (
        ["x"],
        ["x", "--url", "http://a", "--", "b"],
        ["x", "--env", "novalue", "--", "b"],
        ["x", "--url", "htp://a"],
        ["x", "--url", "example.com/mcp"],
        ["x", "--url", "http://a", "--env", "A=b"],
        ["x", "--header", "A=b", "--", "b"],
        ["x", "--transport", "sse", "--", "b"],
        ["a:b", "--", "x"],
    ):
        assert kumi("hub", "add", *bad).code == 2
    assert (tmp_path / "shop/mcp.config.yaml").read_text() == before
    unset = kumi("hub", "add", "new", "--", "${NO_SUCH_THING}")
    assert (unset.code, "the variable NO_SUCH_THING is not set in the environment. Set it" in unset.err) == (3, True)


def test_a_named_file_replaces_the_others_and_a_mistake_in_it_is_told(
    kumi: Kumi, here: Path, tmp_path: Path, alpha: Scripted
) -> None:
    assert here.is_dir()
    other = tmp_path / "other.yaml"
    put(other, Scripted(tmp_path, "other", {"name": "echo"}))
    assert [it["name"] for it in kumi("hub", "ls", "--json", "--config", other).json["servers"]] == ["other"]
    assert kumi("hub", "call", "other:echo", "{}", "--config", other).code == 0
    assert kumi("hub", "rm", "other", "--config", other).code == 0
    assert alpha.name in (here / "mcp.config.yaml").read_text()
    other.write_text("servers:\n  - name: a\n    comand: x\n")
    for words in (["hub", "ls"], ["hub", "call", "a:b"], ["mcp", "serve", "--toolset", "hub"], ["up"]):
        failed = kumi(*words, "--config", other)
        assert failed.code == 3, words
        assert "other.yaml:3" in failed.err
    assert kumi("hub", "ls", "--config", tmp_path / "none.yaml").code == 3


def test_calls_from_the_terminal_are_on_record_as_well(kumi: Kumi, home: Path, here: Path) -> None:
    assert kumi("init").code == 0
    assert here.is_dir()
    kumi("hub", "call", "alpha:add", '{"a": 1}')
    store = open_store(str(home / "kumi.db"))
    try:
        kept = [event for event in store.events_after(None, 1000) if event.kind == KIND]
        assert [(event.actor, event.project_id is not None) for event in kept] == [("owner", True)]
    finally:
        store.close()


def test_servers_of_other_clients_are_taken_over_and_what_is_not_is_told(
    kumi: Kumi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("GITHUB_KEY", raising=False)
    shop = tmp_path / "shop"
    assert kumi("hub", "add", "taken", "--", "ours").code == 0
    (shop / ".cursor").mkdir()
    entries = {
        "files": {"command": "npx", "args": ["files"]},
        "taken": {"command": "theirs"},
        "same": {"command": "ours"},
        "kumihimo": {"command": "kumi", "args": ["mcp", "serve"]},
        "github": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${env:GITHUB_KEY}"}},
    }
    (shop / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
    before = (shop / "mcp.config.yaml").read_text()
    planned = kumi("hub", "import", "--dry-run", "--json").json["servers"]
    outcomes = {row["name"]: row["outcome"] for row in planned}
    assert outcomes == {
        "files": "would be imported",
        "github": "needs variables",
        "same": "known already",
        "taken": "name is taken",
        "kumihimo": "can't be used",
    }
    assert next(row["detail"] for row in planned if row["name"] == "github") == "GITHUB_KEY"
    assert (shop / "mcp.config.yaml").read_text() == before
    nothing = kumi("hub", "import", "file", "--dry-run")
    assert (nothing.code, "Did you mean 'files'?" in nothing.err) == (5, True)
    assert kumi("hub", "import", "files", "nothing-of-that-name").code == 5
    assert kumi("hub", "import", "kumihimo").code == 0
    stranger = kumi("hub", "import", "--client", "curser")
    assert (stranger.code, "claude-code, cursor, vscode" in stranger.err, "'cursor'?" in stranger.err) == (
        2,
        True,
        True,
    )
    assert (shop / "mcp.config.yaml").read_text() == before
    monkeypatch.setenv("GITHUB_KEY", "secret")
    assert "files" in kumi("hub", "import").out
    assert [it["name"] for it in kumi("hub", "ls", "--json").json["servers"]] == ["taken", "files", "github"]
    assert "secret" not in (shop / "mcp.config.yaml").read_text()
    assert {row["outcome"] for row in kumi("hub", "import", "--client", "codex", "--json").json["servers"]} == set()


def test_arguments_that_the_shell_has_spoilt_are_told_with_how_to_quote_them(kumi: Kumi) -> None:
    typed = kumi("hub", "call", "files:list", "{path: .}")
    assert typed.code == 2
    assert """between single quotes: '{"path": "."}'""" in typed.err
    assert "一重引用符" in kumi("--lang", "ja", "hub", "call", "files:list", "{path: .}").err
