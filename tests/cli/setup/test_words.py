"""What is printed where, in which language, and how it ends."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib

import pytest

from kumihimo.surfaces.cli.setup import clients
from kumihimo.surfaces.cli.setup.phrases import SAID
from tests.cli.setup.conftest import OURS, Desk, tree


@pytest.mark.parametrize(
    ("client", "scope"), [(client.name, scope) for client in clients.CLIENTS for scope in client.scopes]
)
def test_a_dry_run_writes_nothing_and_prints_only_the_snippet(desk: Desk, client: str, scope: str) -> None:
    before = tree(desk.home)

    result = desk.setup(client, "--scope", scope, "--dry-run")

    assert result.code == 0
    snippet = tomllib.loads(result.out) if client == "codex" else json.loads(result.out)
    (table,) = snippet.values()
    extra = {"type": "stdio"} if client == "vscode" else {}
    assert table == {"kumihimo": {**extra, **OURS, "command": "kumi" if scope == "repo" else str(desk.program)}}
    assert "nothing was written" in result.err
    assert tree(desk.home) == before


def test_a_dry_run_shows_nothing_of_what_is_in_the_file_already(desk: Desk) -> None:
    desk.file(".mcp.json", '{"mcpServers": {"kumihimo": {"command": "x", "env": {"TOKEN": "secret"}}}}')
    before = tree(desk.home)

    result = desk.setup("claude", "--dry-run")

    assert "secret" not in result.out + result.err
    assert json.loads(result.out) == {"mcpServers": {"kumihimo": OURS}}
    assert tree(desk.home) == before


def test_a_dry_run_of_a_broken_file_fails_as_the_run_would(desk: Desk) -> None:
    desk.file(".mcp.json", "{")

    result = desk.setup("claude", "--dry-run")
    assert (result.code, result.out) == (3, "")


def test_json_says_what_happened_and_nothing_else(desk: Desk) -> None:
    path = str(desk.repository / ".codex" / "config.toml")
    snippet = '[mcp_servers.kumihimo]\ncommand = "kumi"\nargs = ["mcp", "serve"]\n'
    expected = {"client": "codex", "path": path, "scope": "repo", "changed": True, "snippet": snippet}

    would = desk.setup("codex", "--dry-run", "--json")
    assert (would.json, would.err) == (expected, "")
    assert not (desk.repository / ".codex").exists()
    done = desk.setup("codex", "--json")
    assert (done.json, done.err) == (expected, "")
    assert desk.setup("codex", "--json").json == {**expected, "changed": False}


def test_json_keeps_stdout_to_itself_where_there_is_something_to_warn_of(desk: Desk) -> None:
    desk.file(".mcp.json", "// mine\n{}")

    result = desk.setup("claude", "--json")
    assert result.json["changed"] is True
    assert "has a comment" in result.err


def test_an_unknown_client_is_a_bad_argument_and_the_known_ones_are_named(desk: Desk) -> None:
    result = desk.setup("emacs")

    assert result.code == 2
    assert all(name in result.err for name in clients.NAMES)


def test_no_client_and_an_unknown_scope_are_bad_arguments(desk: Desk) -> None:
    assert desk.setup().code == 2
    assert desk.setup("claude", "--scope", "world").code == 2


def test_a_program_that_others_will_not_find_is_warned_of(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    assert "`kumi` is not on PATH" in desk.setup("cursor").err
    assert "not on PATH" not in desk.setup("cursor", "--scope", "user").err


@pytest.mark.parametrize("client", clients.NAMES)
def test_everything_is_said_in_japanese_too(desk: Desk, client: str) -> None:
    words = desk.setup(client, "--lang", "ja").out
    assert "追加しました" in words
    assert words.splitlines()[-1].startswith("次は、")
    assert "もうあります" in desk.setup(client, "--lang", "ja").out


def test_a_refusal_is_said_in_japanese_with_its_reason(desk: Desk) -> None:
    path = desk.file(".cursor/mcp.json", '{\n "a": 1\n "b": 2}')

    assert f"{path}:3: この前にコンマがあるはずです。" in desk.setup("cursor", "--lang", "ja").err


def test_the_language_of_the_settings_is_spoken(desk: Desk) -> None:
    desk.file("kumi.toml", 'lang = "ja"\n')

    assert "追加しました" in desk.setup("claude").out


@pytest.mark.parametrize("key", SAID)
def test_every_phrase_is_in_both_languages_with_the_same_places_to_fill(key: str) -> None:
    phrase = SAID[key]
    assert set(phrase) == {"en", "ja"}
    places = {language: sorted(re.findall(r"{(\w+)}", text)) for language, text in phrase.items()}
    assert places["en"] == places["ja"]
    assert re.search("[ぁ-んァ-ヶ一-龠]", phrase["ja"])
    assert phrase["en"].isascii()


def test_every_client_has_a_next_step_for_each_of_its_scopes() -> None:
    steps = {f"next_{client.name}_{scope}" for client in clients.CLIENTS for scope in client.scopes}
    assert steps == {key for key in SAID if key.startswith("next_")}


def test_no_other_verb_loads_this() -> None:
    program = "import sys, kumihimo.surfaces.cli.program; print([m for m in sys.modules if '.cli.setup' in m])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
