"""Configuration in both forms, its variables, its defaults, and the line of every mistake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.domain.errors import ConfigError
from kumihimo.hub.configuration import Options, RetryPolicy
from kumihimo.hub.configuration_file import Configuration, from_file, load
from kumihimo.hub.places import files_of
from kumihimo.settings import Flags
from kumihimo.settings import load as load_settings

# The sample of the design, to the letter: its `@` is not YAML.
SAMPLE = """\
# mcp.config.yaml
servers:
  - name: serena
    transport: stdio
    command: serena-mcp
    args: []
    env:
      SERENA_PROJECT_ROOT: ${PROJECT_ROOT}

  - name: filesystem
    transport: stdio
    command: @akiojin/mcp-filesystem
    args: ["--root", "${PROJECT_ROOT}"]

  - name: custom-api
    transport: http
    url: http://localhost:8080/mcp
    headers:
      Authorization: Bearer ${API_KEY}

options:
  maxParallel: 10
  timeout: 30000
  retryPolicy:
    maxRetries: 3
    initialDelay: 1000
    maxDelay: 10000
    backoffMultiplier: 2
"""

ENV = "servers:\n  - name: a\n    command: x\n    env:\n      A: a\n"


def read(tmp_path: Path, text: str, name: str = "mcp.config.yaml", **variables: str) -> Configuration:
    file = tmp_path / name
    file.write_text(text)
    return from_file(file, variables, tmp_path)


def test_the_sample_of_the_design_is_read_as_it_stands(tmp_path: Path) -> None:
    found = read(tmp_path, SAMPLE, API_KEY="s3cret")
    serena, filesystem, api = (definition.at(tmp_path) for definition in found.servers)
    assert (serena.command, serena.args, serena.env) == ("serena-mcp", (), {"SERENA_PROJECT_ROOT": str(tmp_path)})
    assert (filesystem.command, filesystem.args) == ("@akiojin/mcp-filesystem", ("--root", str(tmp_path)))
    assert (api.transport, api.url) == ("http", "http://localhost:8080/mcp")
    assert api.headers == {"Authorization": "Bearer s3cret"}
    assert found.options == Options()


def test_the_form_that_every_client_uses_is_read_and_what_others_keep_in_it_passed_over(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "mcpServers": {
                "one": {
                    "command": "x",
                    "args": ["-a"],
                    "env": {"A": "pre-${B}"},
                    "alwaysAllow": ["y"],
                    "type": "stdio",
                },
                "two": {"type": "streamable-http", "url": "https://example.test/mcp", "headers": {"H": "${B:-none}"}},
                "three": {"url": "ws://127.0.0.1:1/", "timeout": 5, "cache": True, "retryPolicy": {"maxRetries": 0}},
                "four": {"command": "x", "disabled": True},
                "five": {"command": "x", "url": "http://h/", "headers": {"A": "b"}},
                "six": {"type": "http", "url": "http://h/", "env": {"A": "b"}, "args": ["c"], "cwd": "/"},
            },
            "somethingElse": 1,
        },
        indent="\t",
    )
    found = read(tmp_path, text, ".mcp.json", B="b").servers
    one, two, three, five, six = (definition.at(tmp_path) for definition in found)
    assert (five.transport, six.transport) == ("stdio", "http")
    assert (one.name, one.transport, one.args, one.env) == ("one", "stdio", ("-a",), {"A": "pre-b"})
    assert (two.transport, two.headers, two.timeout, two.cache) == ("http", {"H": "b"}, 30000, False)
    assert (three.transport, three.timeout, three.cache) == ("websocket", 5, True)
    assert three.retry_policy == RetryPolicy(max_retries=0)


def test_options_have_their_defaults_and_a_server_its_own_values(tmp_path: Path) -> None:
    text = """\
servers:
  - {name: own, command: x, timeout: 7, retryPolicy: {maxRetries: 1}, debug: true, per_worktree: true, cache: true,
     allow: [a], deny: [b], sandbox: {network: true, read: ["${PROJECT_ROOT}"], write: [/tmp]}}
  - {name: plain, command: x}
options: {timeout: 9, retryPolicy: {initialDelay: 5, retryableErrors: [TIMEOUT]}}
"""
    found = read(tmp_path, text)
    assert (found.options.max_parallel, found.options.max_connections) == (10, 64)
    own, plain = (definition.at(tmp_path) for definition in found.servers)
    assert (own.timeout, own.retry_policy.max_retries, own.retry_policy.initial_delay) == (7, 1, 5)
    assert (plain.timeout, plain.retry_policy.max_retries, plain.retry_policy.max_delay) == (9, 3, 10000)
    assert plain.retry_policy.retryable_errors == ("TIMEOUT",)
    assert own.sandbox is not None
    assert (own.sandbox.read, own.sandbox.write, own.per_worktree) == ((str(tmp_path),), ("/tmp",), True)
    assert Options() == Options(10, 30000, RetryPolicy(3, 1000, 10000, 2.0, None), 64, False)


@pytest.mark.parametrize(
    ("line", "text", "says"),
    [
        (4, 'servers:\n  - name: "a"\n    command: "x"\n    transport: "carrier-pigeon"\n', "carrier-pigeon"),
        (3, "servers:\n  - name: a\n    comand: x\n    url: http://h/\n", "command"),
        (4, "servers:\n  - name: a\n    command: x\n    timeout: soon\n", "timeout"),
        (2, "servers:\n  - name: a\n    timeout: 5\n", "command, or a url"),
        (6, "servers:\n  - name: a\n    command: x\n    env:\n      A: a\n      B: ${MISSING}\n", "MISSING"),
        (4, "servers:\n  - name: a\n    command: x\n    args: [a, '${1BAD}']\n", "names no variable"),
        (5, "servers:\n  - name: a\n    command: x\n  - command: y\n    name: a\n", "Two servers"),
        (2, "servers:\n  - name: a:b\n    command: x\n", "colon"),
        (3, "options:\n  retryPolicy:\n    maxRetries: -1\n", "maxRetries"),
        (2, "options:\n  maxParalel: 1\n", "maxParallel"),
        (3, "options:\n  retryPolicy:\n    retryableErrors: [NO_SUCH]\n", "NO_SUCH"),
        (1, "server: []\n", "servers"),
        (2, "servers:\n- just text\n", "table"),
        (1, "servers: {}\n", "list"),
        (3, "servers:\n  - name: [\n", "YAML"),
        (5, "servers:\n  - name: a\n    command: x\n    sandbox:\n      read: [relative]\n", "absolute"),
        (3, "servers:\n  - name: a\n    transport: http\n    command: x\n", "url"),
        (3, "servers:\n  - name: a\n    url: htp://h/mcp\n", "no address"),
        (3, "servers:\n  - name: a\n    url: ws://h/mcp\n    transport: http\n", "http://"),
        (3, "servers:\n  - name: a\n    url: http://h/mcp\n    transport: websocket\n", "ws://"),
        (
            5,
            "servers:\n  - name: a\n    command: x\n    env:\n      1: one\n",
            "key '1' in env is a number: put it between quotes",
        ),
        (6, f"{ENV}      PORT: 8080\n", "'PORT' in env is a number: put it between quotes"),
        (6, f"{ENV}      DEBUG: yes\n", "'DEBUG' in env is a boolean: put it between quotes"),
        (6, f"{ENV}      DAY: 2026-01-31\n", "'DAY' in env is a date: put it between quotes"),
        (6, f"{ENV}      EMPTY:\n", "'EMPTY' in env is nothing: write \"\""),
        (6, f"{ENV}      MANY: [a]\n", "'MANY' in env is a list"),
        (
            5,
            "servers:\n  - name: a\n    url: http://h/\n    headers:\n      X-Limit: 5\n",
            "'X-Limit' in headers is a number",
        ),
        (4, "servers:\n  - name: a\n    command: x\n    retryPolicy: {maxRetrys: 1}\n", "Did you mean 'maxRetries'"),
        (4, "servers:\n  - name: a\n    command: x\n    sandbox: {name: x}\n", "'name' is not a setting."),
        (4, "servers:\n  - name: a\n    command: x\n    deny: ['a:write']\n", "of this server: write 'write'"),
        (6, "servers:\n  - name: a\n    command: x\n    deny:\n      - read\n      - wri*\n", "name each tool"),
        (3, "servers:\n  - {name: a, command: x,\n     allow: ['*']}\n", "name each tool"),
        (5, "servers:\n  - name: a\n    command: x\n    deny: [b]\n    deny: []\n", "'deny' is there twice, on line 4"),
        (2, "servers: [{name: a, command: x}]\nservers: []\n", "'servers' is there twice"),
        (3, "mcpServers:\n  a: {command: x}\nservers: [{name: b, command: y}]\n", "'mcpServers' and 'servers'"),
        (4, "servers:\n  - name: a\n    command: x\n    url: http://h/\n", "not both"),
        (4, "servers:\n  - name: a\n    command: x\n    headers: {A: b}\n", "with a url has headers"),
        (4, "servers:\n  - name: a\n    url: http://h/\n    env: {A: b}\n", "with a command has env"),
        (4, "servers:\n  - name: a\n    url: ws://h/\n    args: [b]\n", "with a command has args"),
        (4, "servers:\n  - name: a\n    url: http://h/\n    cwd: /\n", "with a command has cwd"),
        (1, "servers: &again [*again]\n", "table"),
        (4, "servers:\n  - name: a\n    command: x\n    args: &again [*again]\n", "args"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_line(tmp_path: Path, line: int, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text)
    told = str(raised.value)
    assert f"mcp.config.yaml:{line}:" in told
    assert says in told


@pytest.mark.parametrize(
    ("line", "text", "says"),
    [
        (4, '{\n\t"mcpServers": {\n\t\t"a": {\n\t\t\t"command": 5\n\t\t}\n\t}\n}', "command"),
        (3, '{\n"mcpServers": {\n"a": 5}}', "table"),
        (2, '{"mcpServers":\n [}', "JSON"),
        (3, '{"mcpServers": {"a": {"command": "x",\n"env": {\n"K": "${NOT_SET}"}}}}', "NOT_SET"),
        (3, '{"mcpServers": {\n"a": {"command": "x"},\n"a": {"command": "y"}}}', "'a' is there twice, on line 2"),
        (3, '{"mcpServers": {"a": {"command": "x",\n"deny": ["b"],\n"d\\u0065ny": []}}}', "'deny' is there twice"),
        (3, '{"mcpServers": {"a": {"command": "x", "env": {\n"A": "b",\n"PORT": 8080}}}}', "'PORT' in env is a number"),
        (2, '{"mcpServers": {\n"\\ud800": {"command": "x"}}}', "half of a sign"),
        (3, '{"mcpServers": {\n"a": {"command": "x",\n"deny": ["a:write"]}}}', "write 'write'"),
        (2, '{"mcpServers": {\n"a": {"command": "x", "env": {"K": "\\udfff"}}}}', "half of a sign"),
    ],
)
def test_a_mistake_in_json_is_named_with_its_line_as_well(tmp_path: Path, line: int, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(tmp_path, text, ".mcp.json")
    assert f".mcp.json:{line}:" in str(raised.value)
    assert says in str(raised.value)


def test_what_is_merged_in_may_be_said_again(tmp_path: Path) -> None:
    text = """\
servers:
  - &one {name: one, command: x, timeout: 5, env: &env {A: a}}
  - {<<: *one, name: two, timeout: 6, env: {<<: *env, A: b}}
  - <<: {command: y}
    <<: {env: {A: c}}
    name: three
"""
    found = [server.config for server in read(tmp_path, text).servers]
    assert [(it.name, it.command, it.timeout, it.env) for it in found] == [
        ("one", "x", 5, {"A": "a"}),
        ("two", "x", 6, {"A": "b"}),
        ("three", "y", 30000, {"A": "c"}),
    ]


def test_json_that_is_too_deep_for_lines_is_read_without_them(tmp_path: Path) -> None:
    deep = "[" * 600 + "]" * 600
    found = read(tmp_path, f'{{"mcpServers": {{"a": {{"command": "x"}}}}, "others": {deep}}}', ".mcp.json")
    assert [server.name for server in found.servers] == ["a"]


def test_a_file_that_says_the_same_again_and_again_is_read_in_no_time(tmp_path: Path) -> None:
    members = "".join(f"  - &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]\n" for n in range(40))
    with pytest.raises(ConfigError, match="table"):
        read(tmp_path, f"servers:\n{members}")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[" * 5000, None])
def test_a_file_that_can_not_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    for name in ("mcp.config.yaml", ".mcp.json"):
        file = tmp_path / name
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ConfigError, match=name):
            Hub.from_file(file)


def test_the_projects_files_come_before_the_users_and_an_empty_one_says_nothing(tmp_path: Path) -> None:
    project, user = tmp_path / "project", tmp_path / "user"
    for folder in (project, user):
        folder.mkdir()
    settings = load_settings(Flags(), {"KUMI_HOME": str(user)}, project)
    assert load(files_of(project, settings), {}, project) == Configuration((), Options())
    (project / "mcp.config.yaml").write_text("# nothing yet\n")
    (project / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "project"}}}')
    (user / "mcp.config.yaml").write_text("servers: [{name: a, command: user}, {name: b, command: user}]")
    found = load(files_of(project, settings), {}, project)
    assert [(server.name, server.config.command) for server in found.servers] == [("a", "project"), ("b", "user")]


def test_the_first_options_that_are_said_count_for_all_files(tmp_path: Path) -> None:
    names = ("first.yaml", "second.yaml", "third.json")
    texts = (
        "servers: [{name: a, command: x}]\noptions:\n",
        "servers: [{name: b, command: x}]\noptions: {timeout: 5, maxParallel: 2}\n",
        '{"mcpServers": {"c": {"command": "x"}}, "options": {"timeout": 7}}',
    )
    for name, text in zip(names, texts, strict=True):
        (tmp_path / name).write_text(text)
    found = load([tmp_path / name for name in names], {}, tmp_path)
    assert found.options == Options(timeout=5, max_parallel=2)
    # What is nearest to a server counts for it.
    assert [server.config.timeout for server in found.servers] == [5, 5, 7]
    (tmp_path / names[2]).write_text('{"mcpServers": {}, "options": {\n"timeout": 0}}')
    with pytest.raises(ConfigError, match=r"third\.json:2:"):
        load([tmp_path / name for name in names], {}, tmp_path)


def test_two_signs_stand_for_themselves_and_the_project_is_not_what_the_environment_says(tmp_path: Path) -> None:
    text = "servers: [{name: a, command: x, args: ['$${A}', '${PROJECT_ROOT}', '${EMPTY}', '${EMPTY:-e}', '$A']}]"
    found = read(tmp_path, text, PROJECT_ROOT="/elsewhere", EMPTY="")
    assert found.servers[0].at(tmp_path).args == ("${A}", str(tmp_path), "", "e", "$A")


@pytest.mark.parametrize(
    ("servers", "place"),
    [
        ([{"name": "a", "command": "x"}, {"name": "b", "transport": "pigeon"}], "servers[1].transport"),
        ([{}], "servers[0]"),
        ([{"name": "a", "command": "x", "url": "http://h/"}], "servers[0].url"),
        ([{"name": "a", "command": "x", "headers": {"A": "b"}}], "servers[0].headers"),
    ],
)
def test_a_mistake_in_values_is_named_by_its_place(servers: list[dict[str, Any]], place: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Hub(servers=servers)
    assert str(raised.value).startswith(f"{place}:")
