"""Settings, addresses, prompts: what a Runner is told, and what it makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kumihimo.domain.errors import ConfigError
from kumihimo.engine.agents.client import Order, Start
from kumihimo.engine.processes.capture import strike_out
from kumihimo.engine.processes.nursery import Nursery
from kumihimo.runner.kick import PASSKEY_VARIABLE, kick_prompt
from kumihimo.runner.pair import Pair
from kumihimo.runner.place import Place, home_of, place_of
from kumihimo.runner.records import Record, Records
from kumihimo.runner.secrets import secrets_of
from kumihimo.runner.starter import Errand, Starter
from kumihimo.runner.where import at_url, endpoint
from kumihimo.settings import Client, Flags, RunnerAgent, from_environment, load
from kumihimo.wire.client.targets import Url

URLS = {
    "http://127.0.0.1:9696": ("http://127.0.0.1:9696/mcp/runner", "http://127.0.0.1:9696/mcp/worker"),
    "https://board.example/": ("https://board.example/mcp/runner", "https://board.example/mcp/worker"),
    "http://[::1]:9/mcp/runner": ("http://[::1]:9/mcp/runner", "http://[::1]:9/mcp/worker"),
    # S1's own server has one endpoint for everything.
    "http://s1.example/mcp": ("http://s1.example/mcp", "http://s1.example/mcp"),
}


@pytest.mark.parametrize("url", URLS)
def test_a_server_is_known_by_its_url(url: str) -> None:
    where = at_url(url, "krun_x")
    assert isinstance(where.server, Url)
    assert (where.server.url, where.worker_url) == URLS[url]
    assert where.server.bearer == "krun_x"
    # A token is not shown by accident.
    assert "krun_x" not in repr(where)


def test_an_instance_is_told_its_own_endpoint_by_a_server_of_ours_and_by_no_other() -> None:
    ours, foreign = "http://h:1/mcp/worker", "http://s1.example/mcp"
    assert endpoint(ours, None) == ours
    assert endpoint(ours, "/mcp/hub,worker?expose=all") == "http://h:1/mcp/hub,worker?expose=all"
    assert (
        endpoint(f"{ours}?project=p", "/mcp/hub,worker?expose=all") == "http://h:1/mcp/hub,worker?project=p&expose=all"
    )
    for path in ("/elsewhere", "http://evil.example/mcp/worker", "//evil.example/mcp/"):
        assert endpoint(ours, path) == ours
    assert endpoint(foreign, "/mcp/hub,worker") == foreign


@pytest.mark.parametrize(
    "url", ["", "board.example", "ftp://board.example", "http://", "http://u:p@board.example", "http://x:y"]
)
def test_what_is_no_url_is_a_mistake_of_the_configuration(url: str) -> None:
    with pytest.raises(ConfigError):
        at_url(url, None)


def test_settings_of_the_repository_win_over_those_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(
        '[runner]\nserver = "http://one"\nmax_concurrent = 2\n[runner.agents."agt_a"]\npasskey = "${A}"\n'
    )
    (tmp_path / "kumi.toml").write_text('[runner]\nmax_concurrent = 5\n[runner.agents."agt_b"]\npasskey = "${B}"\n')
    runner = load(Flags(), {"KUMI_HOME": str(tmp_path / "home")}, tmp_path).runner
    assert (runner.server, runner.max_concurrent) == ("http://one", 5)
    assert runner.agents == {"agt_a": RunnerAgent("${A}"), "agt_b": RunnerAgent("${B}")}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[runner]\nserverr = 1\n", "serverr"),
        ("[runner]\nmax_concurrent = 0\n", "max_concurrent"),
        ('[runner]\nmax_concurrent = "x"\n', "max_concurrent"),
        ('[runner.agents."agt_a"]\n', "passkey"),
        ('[runner.agents."agt_a"]\npasskey = 7\n', "passkey"),
    ],
)
def test_a_mistake_in_the_settings_is_named(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=named):
        load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path)


def test_a_passkey_comes_from_the_environment_and_from_nowhere_else() -> None:
    assert from_environment("there", "${KEY_A}", {"KEY_A": "secret"}) == ("KEY_A", "secret")
    with pytest.raises(ConfigError, match="KEY_A is not set"):
        from_environment("there", "${KEY_A}", {})
    with pytest.raises(ConfigError) as literal:
        from_environment("there", "my-secret-passkey", {})
    assert "my-secret-passkey" not in str(literal.value)


def _kumi(home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KUMI_")}
    return subprocess.run(
        [sys.executable, "-m", "kumihimo", *words], capture_output=True, text=True, check=False, timeout=60, cwd=home,
        env={**kept, "KUMI_HOME": str(home), "KUMI_LANG": "en", **environment},
    )  # fmt: skip


def test_the_verb_says_what_is_missing_and_its_group_still_makes_tokens(tmp_path: Path) -> None:
    nothing = _kumi(tmp_path, "runner")
    assert (nothing.returncode, nothing.stdout) == (3, "")
    assert "[runner.agents." in nothing.stderr
    (tmp_path / "config.toml").write_text('[runner.agents."agt_a"]\npasskey = "${CODER_PASSKEY}"\n')
    unset = _kumi(tmp_path, "runner", "--once")
    assert (unset.returncode, "CODER_PASSKEY is not set" in unset.stderr) == (3, True)
    bad = _kumi(tmp_path, "runner", "--once", "--server", "nowhere", CODER_PASSKEY="x")
    assert bad.returncode == 3
    away = _kumi(tmp_path, "runner", "--once", "--server", "http://127.0.0.1:9", CODER_PASSKEY="x", KUMI_TOKEN="krun_t")
    assert (away.returncode, away.stdout) == (1, "")
    assert "KUMI_TOKEN" in away.stderr
    token = _kumi(tmp_path, "runner", "token", "--json")
    assert json.loads(token.stdout)["token"].startswith("krun_")
    shown = _kumi(tmp_path, "runner", "--help").stdout
    for word in ("--server", "--once", "token", "Examples:"):
        assert word in shown


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_kick_prompt_has_what_an_instance_needs_and_no_more(language: str) -> None:
    told = kick_prompt(Pair("agt_a", "prj_b"), "the-passkey", Path("/work"), language)  # type: ignore[arg-type]
    for word in (
        "agent_id: agt_a",
        "project_id: prj_b",
        "passkey: the-passkey",
        "/work",
        "authenticate",
        "report_completed",
    ):
        assert word in told
    hidden = kick_prompt(Pair("agt_a", "prj_b"), None, Path("/work"), language)  # type: ignore[arg-type]
    assert PASSKEY_VARIABLE in hidden


def test_a_secret_is_found_in_json_as_well() -> None:
    secrets = secrets_of(
        ['pass"word\\1', "", "kümmel-1234"], {"API_KEY": "abcdefgh", "SHORT_KEY": "abc", "PLAIN": "visible1"}
    )
    text = b'{"a":"pass\\"word\\\\1"} pass"word\\1 abcdefgh abc visible1 ' + "kümmel-1234".encode()
    struck = strike_out(text, secrets)
    assert len(struck) == len(text)
    assert struck.replace(b"*", b"") == b'{"a":""}   abc visible1 '


def test_a_folder_that_is_not_here_is_no_home(tmp_path: Path) -> None:
    assert home_of(str(tmp_path)) == tmp_path
    assert home_of(str(tmp_path / "nothing")) is None
    assert home_of("relative") is None
    assert place_of(tmp_path, None, "ins_1") == Place(tmp_path)


class Shouting:
    """A CLI with everything that it is asked in its arguments."""

    def start(self, order: Order) -> Start:
        return Start(("-p", order.prompt), {"A": "b"})


def test_a_cli_that_takes_its_prompt_as_an_argument_gets_the_passkey_by_its_environment(tmp_path: Path) -> None:
    settings = load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path)
    records = Records(tmp_path, "s")
    record = Record("ins_1", "s", "agt_a", "prj_b", "codex", "/", datetime(2026, 1, 1, tzinfo=UTC))
    errand = Errand(record, Place(tmp_path), "the-passkey", None, "http://127.0.0.1:9/")
    starter: Any = Starter(settings, records, Nursery(1))
    start = starter._order(Shouting(), errand, records.folder_of("ins_1"), Client())
    assert "the-passkey" not in str(start.argv)
    assert PASSKEY_VARIABLE in str(start.argv)
    assert start.environment == {"A": "b", PASSKEY_VARIABLE: "the-passkey"}
    assert "the-passkey" not in repr(errand)
