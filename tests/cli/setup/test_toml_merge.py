"""Our entry among what people have in their config.toml."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kumihimo.surfaces.cli.setup.merging import merge
from kumihimo.surfaces.cli.setup.refusal import Refusal
from kumihimo.surfaces.cli.setup.toml_document import TomlDocument
from kumihimo.surfaces.cli.setup.toml_syntax import layout
from tests.cli.setup.conftest import OURS, Desk

REAL = '''\
# My Codex.
model = "gpt-5.5"   # the big one
notify = [
    "sh", "-c", # ] not the end
    "echo [mcp_servers.kumihimo]",
]
developer_instructions = """
[mcp_servers.kumihimo]
command = "not a table" # a quote: "" and one at the end: """"

[projects."/src/shop"]
trust_level = "trusted"

[mcp_servers.docs]
command = 'npx'
args = ["-y", "docs-mcp"]
env = { TOKEN = "x", "odd key" = '}' }
started = 2026-11-01 07:32:00

# The last line has no end.
[tui]
notifications = true'''


def merged(text: str) -> str:
    return merge(TomlDocument(text), "mcp_servers", OURS).document.text


def test_a_real_file_keeps_every_byte_and_gets_a_table_at_its_end(desk: Desk) -> None:
    path = desk.file(".codex/config.toml", REAL)

    assert desk.setup("codex").code == 0
    assert path.read_text() == REAL + '\n\n[mcp_servers.kumihimo]\ncommand = "kumi"\nargs = ["mcp", "serve"]\n'
    assert desk.setup("codex", "--json").json["changed"] is False


def test_windows_line_endings_and_a_byte_order_mark_stay(desk: Desk) -> None:
    before = b"\xef\xbb\xbf" + REAL.replace("\n", "\r\n").encode()
    path = desk.file(".codex/config.toml", before)

    assert desk.setup("codex").code == 0
    after = path.read_bytes()
    assert after.startswith(before)
    assert b"\n" not in after.replace(b"\r\n", b"")


def test_another_server_of_our_name_is_replaced_where_it_stands_and_its_environment_is_kept(desk: Desk) -> None:
    before = """\
[mcp_servers.kumihimo] # ours
url = "http://127.0.0.1:9696/mcp"
startup_timeout_sec = 20 # slow disk

[mcp_servers.kumihimo.http_headers]
Authorization = "Bearer x"

# where the board is
[mcp_servers.kumihimo.env]
KUMI_HOME = "/srv/kumi"

[mcp_servers.other]
command = "x"
"""
    path = desk.file(".codex/config.toml", before)

    assert "url, http_headers, command, args changed" in desk.setup("codex").out
    assert (
        path.read_text()
        == """\
[mcp_servers.kumihimo] # ours
startup_timeout_sec = 20 # slow disk
command = "kumi"
args = ["mcp", "serve"]


# where the board is
[mcp_servers.kumihimo.env]
KUMI_HOME = "/srv/kumi"

[mcp_servers.other]
command = "x"
"""
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[mcp_servers.kumihimo]\ncommand = "kumi"\nargs = ["mcp", "serve"]\n'),
        ("# only a comment\n", '# only a comment\n\n[mcp_servers.kumihimo]\ncommand = "kumi"\n'),
        ("[mcp_servers]\n", "[mcp_servers]\n\n[mcp_servers.kumihimo]\n"),
        ("mcp_servers = {}\n", 'mcp_servers = { kumihimo = { command = "kumi", args = ["mcp", "serve"] } }\n'),
        ('mcp_servers = { a = { url = "x" } }', 'a = { url = "x" }, kumihimo = { command = "kumi", args'),
        ('mcp_servers.a.url = "x"\n', '\n\n[mcp_servers.kumihimo]\ncommand = "kumi"'),
        ('[mcp_servers]\na = { url = "x" }\n', 'a = { url = "x" }\n\n[mcp_servers.kumihimo]\n'),
        # The entry is there, in every way that TOML has to say it.
        ('[mcp_servers]\nkumihimo = { url = "x", env = { A = "b" } }', 'kumihimo = { env = { A = "b" }, command = "kumi", '),
        ('mcp_servers = { kumihimo = { env = { A = "b" }, url = "x" } }', '{ env = { A = "b" }, command = "kumi", args'),
        ('mcp_servers.kumihimo.command = "x" # c\n', 'mcp_servers.kumihimo.command = "kumi" # c\nmcp_servers.kumihimo.args'),
        ('[mcp_servers]\n  kumihimo.url = "x"\n  kumihimo.env.A = "b"\n', '\n  kumihimo.env.A = "b"\n  kumihimo.command ='),
        ('[ mcp_servers . "kumihimo" ]\n', '[ mcp_servers . "kumihimo" ]\ncommand = "kumi"\nargs = '),
        ("[mcp_servers.'kumihimo']", "[mcp_servers.'kumihimo']\ncommand = \"kumi\"\nargs = "),
        ('[mcp_servers.kumihimo.env]\nA = "b"\n', 'args = ["mcp", "serve"]\n\n[mcp_servers.kumihimo.env]\nA = "b"\n'),
        ('[mcp_servers.kumihimo]\nargs = [\n  "x", # ]\n]\n', '[mcp_servers.kumihimo]\nargs = ["mcp", "serve"]\ncommand'),
        ('[mcp_servers]\nkumihimo = 1\n', '[mcp_servers]\nkumihimo = { command = "kumi", args = ["mcp", "serve"] }\n'),
    ],
)  # fmt: skip
def test_the_entry_is_written_in_the_way_of_the_file(before: str, after: str) -> None:
    text = merged(before)

    assert after in text
    entry = tomllib.loads(text)["mcp_servers"]["kumihimo"]
    assert {**entry, **OURS} == entry
    assert entry.get("env", {"A": "b"}) == {"A": "b"}
    assert merged(text) == text


def test_a_form_that_can_not_be_edited_safely_is_left_and_the_snippet_is_shown(desk: Desk) -> None:
    before = '[[mcp_servers.kumihimo]]\ncommand = "x"\n'
    path = desk.file(".codex/config.toml", before)

    with pytest.raises(Refusal):
        merged(before)
    result = desk.setup("codex")
    assert result.code == 3
    assert '[mcp_servers.kumihimo]\ncommand = "kumi"' in result.err
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('model = "x"\n[mcp_servers.a\ncommand = "x"\n', 2),
        ('a = 1\n\na = 2\n', 3),
        ('a = """\nnever\nclosed\n', 3),
        ("a = \n", 1),
        ("mcp_servers = 3\n", 1),
        ("x = 1\n\n[[mcp_servers]]\n", 3),
        ("a = " + "[" * 100_000, 1),
    ],
)  # fmt: skip
def test_a_broken_file_is_left_untouched_and_its_line_is_named(desk: Desk, text: str, line: int) -> None:
    path = desk.file(".codex/config.toml", text)

    result = desk.setup("codex")

    assert result.code == 3
    assert f"{path}:{line}: " in result.err
    assert path.read_text() == text
    assert [file.name for file in path.parent.iterdir()] == ["config.toml"]


KEYS = st.sampled_from(["mcp_servers", "kumihimo", "a", "b-c", '"d e"', "'[x]'", '"mcp_servers.kumihimo"'])
SCALARS = st.sampled_from(
    ["1", "-2.5e3", "true", "inf", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00", "07:32:00", '"a # b"', "'[c]'",
     '""', '""""""', '"""x\n[mcp_servers.kumihimo]\n"""', '"""\\""""""', "'''y'''''", '"\\"\\\\"', "[]", "[1, [2], 3,]",
     '[\n # ]\n "]", { a = "}" },\n]', "{}", "{ a.b = 1, c = [{}] }"]
)  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> str:
    """Lines that are often TOML."""
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 6))):
        path = ".".join(draw(st.lists(KEYS, min_size=1, max_size=3)))
        kind = draw(st.integers(0, 4))
        if kind == 0:
            lines.append(f"[{path}] # [x]")
        elif kind == 1:
            lines.append(f"[[{path}]]")
        else:
            lines.append(f"  {path} = {draw(SCALARS)} # a = 1")
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines)


def is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


@settings(max_examples=400, deadline=None)
@given(files().filter(is_toml))
def test_every_key_is_found_where_it_stands(text: str) -> None:
    for pair in layout(text).pairs:
        value: Any = tomllib.loads(f"value = {text[pair.value_start : pair.value_end]}")["value"]
        assert text[pair.value_end :].lstrip(" \t")[:1] in ("", "\r", "\n", "#", ",", "}")
        assert pair.path
        assert value == value


@settings(max_examples=400, deadline=None)
@given(files().filter(is_toml))
def test_whatever_is_there_stays_or_nothing_is_done(text: str) -> None:
    value = tomllib.loads(text)
    if not isinstance(value.get("mcp_servers", {}), dict):
        return
    try:
        after = tomllib.loads(merged(text))
    except Refusal:
        # An array of tables of our name is the one thing that is left to the user.
        assert isinstance(value["mcp_servers"]["kumihimo"], list)
        return
    entry = after["mcp_servers"].pop("kumihimo")
    assert {**entry, **OURS} == entry
    value.setdefault("mcp_servers", {}).pop("kumihimo", None)
    assert after == value
