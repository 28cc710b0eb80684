"""Our entry among what people have in their JSON files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kumihimo.surfaces.cli.setup.json_document import JsonDocument
from kumihimo.surfaces.cli.setup.json_syntax import parse
from kumihimo.surfaces.cli.setup.merging import merge
from tests.cli.setup.conftest import OURS, Desk


def merged(text: str, servers: str = "mcpServers") -> str:
    return merge(JsonDocument(text), servers, OURS).document.text


def test_comments_order_and_trailing_commas_of_a_real_vs_code_file_stay(desk: Desk) -> None:
    before = """\
// Servers of the shop. Ask in #tools before you add one.
{
  /* asked once, kept in the keychain */
  "inputs": [
    { "type": "promptString", "id": "token", "password": true, }, // trailing comma, too
  ],
  "servers": {
    "github": {
      "type": "http", // remote
      "url": "https://example.com/mcp/", // not a // comment inside
    },
    // "old": { "command": "npx" },
  },
}
"""
    path = desk.file(".vscode/mcp.json", before)

    assert desk.setup("vscode").code == 0
    assert path.read_text() == before.replace(
        """\
    // "old": { "command": "npx" },
""",
        """\
    // "old": { "command": "npx" },
    "kumihimo": {
      "type": "stdio",
      "command": "kumi",
      "args": ["mcp", "serve"]
    }
""",
    )


def test_a_real_gemini_file_keeps_its_settings_and_gets_its_first_server(desk: Desk) -> None:
    before = '{\n\t"security": {"auth": {"selectedType": "oauth-personal"}},\n\t"ui": {"theme": "GitHub"} // dark\n}\n'
    path = desk.file(".gemini/settings.json", before)

    assert desk.setup("gemini").code == 0
    assert path.read_text() == (
        '{\n\t"security": {"auth": {"selectedType": "oauth-personal"}},\n\t"ui": {"theme": "GitHub"}, // dark\n'
        '\t"mcpServers": {\n\t\t"kumihimo": {\n\t\t\t"command": "kumi",\n\t\t\t"args": ["mcp", "serve"]\n\t\t}\n\t}\n}\n'
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "mcpServers": {\n    "kumihimo": {\n'),
        ("", '{\n  "mcpServers": {\n    "kumihimo": {\n'),
        (" \n\n", '{\n  "mcpServers": {\n    "kumihimo": {\n'),
        ("// none yet\n", '// none yet\n{\n  "mcpServers": {'),
        ('{"a": 1}', '{"a": 1, "mcpServers": {"kumihimo": {"command": "kumi", "args": ["mcp", "serve"]}}}'),
        ('{"a":1,}', '{"a":1, "mcpServers": {"kumihimo": {"command": "kumi", "args": ["mcp", "serve"]}}}'),
        ('{"mcpServers":{}}', '{"mcpServers":{"kumihimo": {"command": "kumi", "args": ["mcp", "serve"]}}}'),
        ('{\n    "mcpServers": {}\n}', '{\n    "mcpServers": {\n        "kumihimo": {\n            "command"'),
        ('{\n  "mcpServers": { /* none */ }\n}', '{\n  "mcpServers": { /* none */\n    "kumihimo": {\n      "command"'),
        ('{\n  "mcpServers": {"a": {"url": "x"}}\n}', '{"a": {"url": "x"}, "kumihimo": {"command"'),
        ('{\n  "mcpServers": {"a": {\n    "url": "x"}}}', '"url": "x"},\n    "kumihimo": {'),
        ('{\n  "a": 1 // one\n  // end\n}', '{\n  "a": 1, // one\n  // end\n  "mcpServers": {'),
        ('{\n  "a": 1 /* one */ , // end\n}', '{\n  "a": 1 /* one */ , // end\n  "mcpServers": {'),
    ],
)
def test_the_entry_is_laid_out_as_its_neighbours_are(before: str, after: str) -> None:
    text = merged(before)

    assert after in text
    assert parse(text).value["mcpServers"]["kumihimo"] == OURS
    assert merged(text) == text


def test_windows_line_endings_and_a_byte_order_mark_stay(desk: Desk) -> None:
    before = b'\xef\xbb\xbf{\r\n  "mcpServers": {\r\n    "a": { "command": "x" }\r\n  }\r\n}\r\n'
    path = desk.file(".cursor/mcp.json", before)

    assert desk.setup("cursor").code == 0
    after = path.read_bytes()
    assert after == before.replace(
        b'{ "command": "x" }\r\n',
        b'{ "command": "x" },\r\n    "kumihimo": {\r\n      "command": "kumi",\r\n      "args": ["mcp", "serve"]\r\n    }\r\n',
    )
    assert b"\n" not in after.replace(b"\r\n", b"")


def test_names_inside_strings_and_deeper_tables_are_not_taken_for_ours(desk: Desk) -> None:
    before = {
        "history": ['{"mcpServers": {"kumihimo": {}}} // "mcpServers": {', "/* { */", "\\", '"}'],
        "projects": {"/src/shop": {"mcpServers": {"kumihimo": {"command": "other"}}}},
        "日本語": "組紐 \U0001f9f6",
        "big": 12345678901234567890,
        "exact": 1.50,
    }
    path = desk.file("~/.claude.json", json.dumps(before, indent=2, ensure_ascii=False))

    assert desk.setup("claude", "--scope", "user").code == 0
    after = json.loads(path.read_text())
    assert after == {**before, "mcpServers": {"kumihimo": {**OURS, "command": str(desk.program)}}}
    assert list(after) == [*before, "mcpServers"]


def test_another_server_of_our_name_is_replaced_and_what_the_user_set_for_it_is_kept(desk: Desk) -> None:
    before = """\
{
  "mcpServers": {
    "kumihimo": {
      "type": "http",
      // the old door
      "url": "http://127.0.0.1:9696/mcp",
      "headers": { "Authorization": "Bearer x" },
      "env": {
        "KUMI_HOME": "/srv/kumi", // shared
      },
      "timeout": 60000
    },
    "other": { "url": "https://example.com" }
  }
}
"""
    path = desk.file(".cursor/mcp.json", before)

    result = desk.setup("cursor")

    assert "type, url, headers, command, args changed" in result.out
    after = path.read_text()
    assert parse(after).value["mcpServers"]["kumihimo"] == {
        "env": {"KUMI_HOME": "/srv/kumi"},
        "timeout": 60000,
        **OURS,
    }
    assert '"KUMI_HOME": "/srv/kumi", // shared' in after
    assert '"other": { "url": "https://example.com" }' in after
    assert desk.setup("cursor", "--json").json["changed"] is False


def test_an_entry_as_claude_code_itself_writes_it_loses_nothing(desk: Desk) -> None:
    entry = {"type": "stdio", "command": "/old/kumi", "args": ["mcp", "serve"], "env": {}}
    path = desk.file(".mcp.json", json.dumps({"mcpServers": {"kumihimo": entry}}, indent=2))

    assert "command changed" in desk.setup("claude").out
    assert json.loads(path.read_text())["mcpServers"]["kumihimo"] == {**entry, "command": "kumi"}


@pytest.mark.parametrize("entry", ["null", "[]", '"x"', "{}"])
def test_something_of_our_name_that_is_no_server_is_replaced(entry: str) -> None:
    text = merged(f'{{\n  "mcpServers": {{ "kumihimo": {entry}, "a": {{}} }}\n}}')

    assert parse(text).value == {"mcpServers": {"kumihimo": OURS, "a": {}}}


def test_of_a_name_that_is_there_twice_the_one_that_counts_is_changed() -> None:
    text = merged('{"mcpServers": {"kumihimo": {"url": "a"}, "kumihimo": {"url": "b", "url": "c"}}, "x": 1}')

    assert json.loads(text)["mcpServers"]["kumihimo"] == OURS


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('{\n  "mcpServers": {\n}\n', 4, "never closed"),
        ('{\n  "a": 1\n  "b": 2\n}', 3, "a comma was expected"),
        ("{\n  a: 1\n}", 2, "double quotes"),
        ('{\n  "a" 1\n}', 2, "a colon"),
        ('{\n  "a": tru\n}', 2, "a value"),
        ('{\n  "a": 01\n}', 2, "a value"),
        ('{\n  "a": NaN\n}', 2, "a value"),
        ('{\n  "a": "x\n}', 2, "not closed"),
        ('{\n  "a": "\\x"\n}', 2, "escaped"),
        ('{"a": [1, 2,, 3]}', 1, "a value"),
        ("{} {}", 1, "more after the end"),
        ("{\n/* open", 2, "comment is not closed"),
        ("[]", 1, "table of names"),
        ('{\n  "mcpServers": []\n}', 2, "table of names"),
        ('{\n\n  "mcpServers": null\n}', 3, "table of names"),
        ("[" * 100_000, 1, "too deeply"),
        ('{"a":' * 100_000, 1, "too deeply"),
        ("<xml/>", 1, "a value"),
    ],
)
def test_a_broken_file_is_left_untouched_and_its_line_is_named(desk: Desk, text: str, line: int, reason: str) -> None:
    path = desk.file(".cursor/mcp.json", text)

    result = desk.setup("cursor")

    assert result.code == 3
    assert f"{path}:{line}: " in result.err
    assert reason in result.err
    assert "mend that line" in result.err
    assert result.out == ""
    assert path.read_text() == text
    assert [file.name for file in path.parent.iterdir()] == ["mcp.json"]


def test_a_file_that_is_not_utf8_is_left_untouched(desk: Desk) -> None:
    raw = '{\n  "a": "組紐"\n}'.encode("shift_jis")
    path = desk.file(".cursor/mcp.json", raw)

    result = desk.setup("cursor")
    assert (result.code, f"{path}:2: this is not UTF-8" in result.err) == (3, True)
    assert path.read_bytes() == raw


@pytest.mark.parametrize(
    ("client", "file", "warned"),
    [
        ("claude", ".mcp.json", ["has a comment", "behind the last item"]),
        ("gemini", ".gemini/settings.json", ["behind the last item"]),
        ("cursor", ".cursor/mcp.json", []),
    ],
)
def test_what_the_client_itself_will_not_read_is_said(desk: Desk, client: str, file: str, warned: list[str]) -> None:
    path = desk.file(file, '{\n  // mine\n  "mcpServers": { "a": { "url": "x", }, }\n}\n')

    result = desk.setup(client)

    assert result.code == 0
    assert "// mine" in path.read_text()
    assert [line for line in result.err.splitlines() if "Warning" in line] == [
        next(line for line in result.err.splitlines() if words in line) for words in warned
    ]


NAMES = st.sampled_from(["mcpServers", "kumihimo", "command", "args", "env", "a", "url", "", 'q"uote', "//", "日本"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=15,
)
BLANKS = st.sampled_from(["", "", " ", "\n", "\n  ", "\t", "\r\n", " /* { */ ", " // }\n", "\n// ,\n"])


@st.composite
def loose_json(draw: st.DrawFn, value: Any) -> str:
    """The value as somebody may have typed it."""
    blank = lambda: draw(BLANKS)  # noqa: E731
    if isinstance(value, dict):
        parts = [f"{blank()}{json.dumps(k)}{blank()}:{blank()}{draw(loose_json(v))}{blank()}" for k, v in value.items()]
        return "{" + ",".join(parts) + ("," + blank() if parts and draw(st.booleans()) else blank()) + "}"
    if isinstance(value, list):
        parts = [f"{blank()}{draw(loose_json(item))}{blank()}" for item in value]
        return "[" + ",".join(parts) + ("," + blank() if parts and draw(st.booleans()) else "") + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_is_there_stays_byte_for_byte_around_the_new_entry(data: st.DataObject) -> None:
    value = data.draw(st.dictionaries(NAMES, VALUES, max_size=4))
    servers = {} if not isinstance(value.get("mcpServers"), dict) else value["mcpServers"]
    value["mcpServers"] = {name: entry for name, entry in servers.items() if name != "kumihimo"}
    text = data.draw(loose_json(value))

    after = merged(text)

    letters = iter(after)
    assert all(letter in letters for letter in text), "nothing was taken away"
    assert parse(after).value == {**value, "mcpServers": {**value["mcpServers"], "kumihimo": OURS}}
    assert merged(after) == after


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_entry_is_there_becomes_ours_and_the_rest_stays(data: st.DataObject) -> None:
    value = data.draw(st.dictionaries(NAMES, VALUES, max_size=3))
    value["mcpServers"] = {"a": 1, "kumihimo": data.draw(VALUES), "b": {"url": "x"}}
    text = data.draw(loose_json(value))

    after = parse(merged(text)).value

    assert {**OURS, **after["mcpServers"]["kumihimo"]} == after["mcpServers"]["kumihimo"]
    assert "url" not in after["mcpServers"]["kumihimo"]
    after["mcpServers"]["kumihimo"] = value["mcpServers"]["kumihimo"]
    assert after == value
