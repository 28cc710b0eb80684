"""How each CLI is started: where the prompt goes, how it finds our MCP, and that no secret is given away."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kumihimo.domain.agent import CLIENTS
from kumihimo.engine.agents import registry
from kumihimo.engine.agents.client import SERVER_NAME, TOKEN_VARIABLE, Door, Order, Start

URL = "http://127.0.0.1:9696/mcp/worker"
WITH_TOOLS = ["claude-code", "codex", "gemini-cli", "opencode", "copilot", "qwen-code"]
WITH_MODEL = [name for name in registry.NAMES if name != "command"]
Ordering = Callable[..., Start]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def start(tmp_path: Path, home: Path) -> Ordering:
    def started(client: str, **fields: Any) -> Start:
        order = {"prompt": "Do it.", "working_directory": tmp_path / "work", "private_folder": tmp_path / "private"}
        return registry.find(client).start(Order(**{**order, "home": home, **fields}))

    return started


def after(start: Start, option: str) -> list[str]:
    """What follows each use of an option."""
    return [start.argv[at + 1] for at, word in enumerate(start.argv) if word == option]


def file_of(start: Start, name: str) -> Any:
    (content,) = [text for path, text in start.files.items() if path.name == name]
    return json.loads(content)


def test_every_client_of_the_domain_is_there() -> None:
    assert set(registry.NAMES) == set(CLIENTS)
    assert [registry.find(name).name for name in registry.NAMES] == list(registry.NAMES)


def test_an_unknown_client_is_said_to_be_so() -> None:
    with pytest.raises(registry.UnknownClient) as raised:
        registry.find("emacs")
    assert raised.value.name == "emacs"


def test_only_the_client_that_is_asked_for_is_imported() -> None:
    code = (
        "import sys; from kumihimo.engine.agents import registry; registry.find('codex'); "
        "print([n for n in sys.modules if n.startswith('kumihimo.engine.agents.') and n.split('.')[-1] in "
        "('claude_code', 'gemini_cli', 'opencode', 'copilot', 'qwen_code', 'cursor', 'command', 'health')])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("client", registry.NAMES)
def test_the_prompt_goes_to_stdin_and_never_into_an_argument(client: str, start: Ordering) -> None:
    started = start(client, prompt="the passkey is pk_123", door=Door(URL), model="m", resume="r")
    assert "the passkey is pk_123" in started.stdin
    assert not any("pk_123" in word for word in started.argv)
    assert not any("pk_123" in text for text in [*started.files.values(), *started.environment.values()])


@pytest.mark.parametrize("client", registry.NAMES)
def test_no_token_is_in_an_argument_a_file_or_a_setting(
    client: str, start: Ordering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, "tok_secret")
    started = start(client, door=Door(URL), system_prompt="Be brief.")
    texts = [*started.argv, *started.files.values(), *started.environment.values(), started.stdin]
    assert not any("tok_secret" in text for text in texts)
    assert TOKEN_VARIABLE not in started.environment


@pytest.mark.parametrize("client", registry.NAMES)
def test_files_are_private_and_a_users_login_is_left_alone(client: str, start: Ordering, tmp_path: Path) -> None:
    started = start(client, door=Door(URL), system_prompt="x" * 200_000)
    for path in [*started.files, *started.links]:
        assert path.is_relative_to(tmp_path / "private")
    login = ("KEY", "AUTH", "BASE_URL", "CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")
    assert not [name for name in started.environment if name == "HOME" or any(word in name for word in login)]


@pytest.mark.parametrize("client", WITH_MODEL)
def test_the_model_is_an_argument(client: str, start: Ordering) -> None:
    started = start(client, model="some/model-1")
    assert [*after(started, "-m"), *after(started, "--model")] == ["some/model-1"]
    assert "some/model-1" not in start(client).argv


@pytest.mark.parametrize("client", [name for name in WITH_MODEL if registry.find(name).resumable])
def test_a_conversation_is_resumed(client: str, start: Ordering) -> None:
    assert "conversation-1" in " ".join(start(client, resume="conversation-1").argv)


@pytest.mark.parametrize("client", registry.NAMES)
def test_the_system_prompt_is_given_once(client: str, start: Ordering) -> None:
    for text in ('Be "brief".\nÜ', "y" * 200_000):
        started = start(client, system_prompt=text)
        argument = json.dumps(text, ensure_ascii=False)[1:-1]
        given = [word for word in started.argv if text in word or argument in word]
        given += [content for content in [*started.files.values(), started.stdin] if text in content]
        assert len(given) == 1
        assert started.stdin.endswith("Do it.")
        assert all(len(word.encode()) < 128 * 1024 for word in started.argv)


def test_claude_finds_our_tools_and_nobody_elses(start: Ordering) -> None:
    started = start("claude-code", door=Door(URL), writable=(Path("/repo/.git"),))
    (given,) = after(started, "--mcp-config")
    server = json.loads(given)["mcpServers"][SERVER_NAME]
    assert server == {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${KUMI_RUN_TOKEN}"}}
    assert "--strict-mcp-config" in started.argv
    (allowed,) = after(started, "--allowedTools")
    assert {"Bash", "Edit", "Write", f"mcp__{SERVER_NAME}"} <= set(allowed.split(","))
    assert after(started, "--add-dir") == ["/repo/.git"]
    assert not any("skip-permissions" in word for word in started.argv)
    # What a user's settings append must not be taken for one more value of an option that takes many.
    assert started.argv[-2:] == ("--permission-mode", "acceptEdits")


def test_claude_retries_as_often_as_the_user_says(start: Ordering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CODE_MAX_RETRIES", raising=False)
    assert start("claude-code").environment["CLAUDE_CODE_MAX_RETRIES"] == "3"
    monkeypatch.setenv("CLAUDE_CODE_MAX_RETRIES", "7")
    assert "CLAUDE_CODE_MAX_RETRIES" not in start("claude-code").environment


def settings_of(started: Start) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in after(started, "-c"):
        found |= tomllib.loads(word)
    return found


def test_codex_finds_our_tools_approved_and_required(start: Ordering) -> None:
    started = start("codex", door=Door(URL))
    server = settings_of(started)["mcp_servers"][SERVER_NAME]
    assert server["url"] == URL
    assert server["bearer_token_env_var"] == TOKEN_VARIABLE
    assert server["required"] is True
    assert server["default_tools_approval_mode"] == "approve"
    assert after(started, "-s") == ["workspace-write"]
    assert started.argv[-1] == "-"


def test_codex_resumes_by_a_command_after_its_options(start: Ordering) -> None:
    assert start("codex", resume="t1").argv[-3:] == ("resume", "t1", "-")


@settings(deadline=None)
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_codex_instructions_are_toml_whatever_they_hold(text: str) -> None:
    order = Order("Do it.", Path("/work"), Path("/private"), system_prompt=text)
    assert settings_of(registry.find("codex").start(order))["developer_instructions"] == text


def test_codex_may_commit_in_a_worktree(start: Ordering, tmp_path: Path) -> None:
    own = tmp_path / "repo" / ".git" / "worktrees" / "one"
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".git").write_text(f"gitdir: {own}\n")
    assert after(start("codex"), "--add-dir") == []
    given = after(start("codex", writable=(tmp_path / "repo" / ".git",)), "--add-dir")
    assert given == [str(tmp_path / "repo" / ".git"), str(own)]


@pytest.mark.parametrize(
    ("client", "folder", "variable"),
    [("gemini-cli", ".gemini", "GEMINI_CLI_HOME"), ("qwen-code", ".qwen", "QWEN_CLI_HOME")],
)
def test_a_settings_folder_of_its_own_has_everything_of_the_users(
    client: str, folder: str, variable: str, start: Ordering, home: Path
) -> None:
    users = home / folder
    users.mkdir()
    (users / "oauth_creds.json").write_text("{}")
    (users / "commands").mkdir()
    (users / "settings.json").write_text(
        json.dumps({"ui": {"theme": "x"}, "mcpServers": {"mine": {"command": "m"}}, "general": {"vimMode": True}})
    )
    started = start(client, door=Door(URL))
    own = Path(started.environment[variable]) / folder
    assert list(started.files) == [own / "settings.json"]
    settings = file_of(started, "settings.json")
    assert settings["ui"] == {"theme": "x"}
    assert settings["general"] == {"vimMode": True, "enableAutoUpdate": False}
    assert settings["mcpServers"]["mine"] == {"command": "m"}
    assert settings["mcpServers"][SERVER_NAME] == {
        "httpUrl": URL,
        "headers": {"Authorization": "Bearer $KUMI_RUN_TOKEN"},
        "trust": True,
    }
    assert started.links[own / "oauth_creds.json"] == users / "oauth_creds.json"
    assert started.links[own / "commands"] == users / "commands"
    assert own / "settings.json" not in started.links


def test_gemini_keeps_its_chats_where_a_later_run_finds_them(start: Ordering, home: Path) -> None:
    started = start("gemini-cli", door=Door(URL))
    own = Path(started.environment["GEMINI_CLI_HOME"]) / ".gemini"
    assert started.links == {own / name: home / ".gemini" / name for name in ("history", "tmp")}


def test_qwen_keeps_its_chats_where_a_later_run_finds_them(start: Ordering, home: Path) -> None:
    started = start("qwen-code", door=Door(URL))
    assert started.environment["QWEN_RUNTIME_DIR"] == str(home / ".qwen")
    assert Path(started.environment["QWEN_HOME"]) / "settings.json" in started.files


def test_settings_may_have_comments(start: Ordering, home: Path) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text('{"a": "http://x /* no */", // yes\n/* this\ntoo */ "b": "\\"//"}')
    settings = file_of(start("gemini-cli", door=Door(URL)), "settings.json")
    assert (settings["a"], settings["b"]) == ("http://x /* no */", '"//')


@pytest.mark.parametrize("broken", ["", "{", "[1]", '{"mcpServers": 3}', "\x00"])
def test_settings_that_cannot_be_read_do_not_stop_a_run(broken: str, start: Ordering, home: Path) -> None:
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text(broken)
    assert list(file_of(start("gemini-cli", door=Door(URL)), "settings.json")["mcpServers"]) == [SERVER_NAME]


@pytest.mark.parametrize("client", ["gemini-cli", "qwen-code"])
def test_without_our_tools_the_users_own_folder_is_used(client: str, start: Ordering) -> None:
    started = start(client)
    assert not started.files
    assert not started.links
    assert not any(name.endswith("HOME") for name in started.environment)


def test_opencode_gets_its_settings_by_its_environment(start: Ordering) -> None:
    settings = json.loads(start("opencode", door=Door(URL)).environment["OPENCODE_CONFIG_CONTENT"])
    assert settings["permission"] == "allow"
    server = settings["mcp"][SERVER_NAME]
    assert (server["type"], server["url"]) == ("remote", URL)
    assert server["headers"] == {"Authorization": "Bearer {env:KUMI_RUN_TOKEN}"}


def test_copilot_gets_our_tools_as_an_argument(start: Ordering) -> None:
    started = start("copilot", door=Door(URL), writable=(Path("/a"), Path("/b")))
    (given,) = after(started, "--additional-mcp-config")
    server = json.loads(given)["mcpServers"][SERVER_NAME]
    assert server["headers"] == {"Authorization": "Bearer ${KUMI_RUN_TOKEN}"}
    assert server["tools"] == ["*"]
    assert "--allow-all-tools" in started.argv
    assert after(started, "--add-dir") == ["/a", "/b"]


def test_a_program_of_the_users_learns_where_our_tools_are(start: Ordering) -> None:
    started = start("command", door=Door(URL), model="m")
    assert started.argv == ()
    assert started.environment == {"KUMI_MCP_URL": URL, "KUMI_MODEL": "m"}


@pytest.mark.parametrize("client", WITH_TOOLS)
def test_without_a_door_no_server_is_named(client: str, start: Ordering) -> None:
    started = start(client)
    texts = [*started.argv, *started.files.values(), *started.environment.values()]
    assert not any(TOKEN_VARIABLE in text for text in texts)
