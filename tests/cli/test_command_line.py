"""Flags, languages, errors and exit codes."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kumihimo.domain import errors
from kumihimo.surfaces.cli.exit_codes import exit_code
from kumihimo.surfaces.cli.verbs import GROUPS, VERBS, WAYS
from tests.cli.conftest import Kumi

PROGRAM = [sys.executable, "-m", "kumihimo"]


def japanese(text: str) -> bool:
    return any("\u3040" <= letter <= "\u30ff" or "\u4e00" <= letter <= "\u9fff" for letter in text)


def test_every_kind_of_error_has_its_exit_code() -> None:
    table = {
        errors.InvalidValue("f", "blank"): 2,
        errors.NameTaken("agent", "x"): 2,
        errors.ConfigError("f", "no_home"): 3,
        errors.ProjectUnclear([]): 3,
        errors.NoProject(): 3,
        errors.StoreNotOurs("db"): 4,
        errors.TaskNotFound(1): 5,
        errors.AmbiguousReference("x", []): 5,
        errors.IllegalTransition("task", 1, "todo", "done", []): 6,
        errors.TaskNotReady(1, "no_assignee"): 6,
        errors.PermissionDenied("x"): 1,
    }
    assert {error.code: exit_code(error) for error in table} == {error.code: code for error, code in table.items()}


@pytest.mark.parametrize("words", [(), ("task",)])
def test_a_command_without_a_verb_shows_the_whole_help_and_no_error(kumi: Kumi, words: tuple[str, ...]) -> None:
    shown = kumi(*words)
    assert (shown.code, shown.out) == (2, "")
    assert shown.err == kumi(*words, "--help").out


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("taks", "ls"), 2, "'task'"),
        (("task", "lst"), 2, "'ls'"),
        (("task", "add", "x", "--priorty", "high"), 2, "--priority"),
        (("task", "add"), 2, "TITLE"),
        (("task", "add", ""), 2, "empty"),
        (("task", "add", "x", "--priority", "17"), 2, "low"),
        (("task", "ls", "--limit", "many"), 2, "--limit"),
        (("task", "update", "1", "--status", "flying"), 2, "backlog"),
        (("task", "show", "99999"), 5, "kumi task ls"),
        (("task", "show", "1 OR 1=1"), 5, "kumi task ls"),
        (("agent", "show", "codr"), 5, "'coder'"),
        (("project", "show", "shp"), 5, "'shop'"),
        (("agent", "add", "x", "--client", "clod"), 2, "claude"),
        (("memory", "add", "../evil", "--category", "rule", "--title", "T"), 2, "slug"),
        (("session", "end", "99", "--exit-code", "0"), 5, "kumi session ls"),
        (("--project", "nothing", "task", "ls"), 5, "kumi project ls"),
    ],
)
def test_a_mistake_ends_with_its_code_and_says_what_to_do(
    shop: Kumi, words: tuple[str, ...], code: int, hint: str
) -> None:
    ended = shop(*words)
    assert ended.code == code, ended.err
    assert hint in ended.err
    assert ended.out == ""
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("words", [(), ("group",), ("run",), ("mcp",), ("hub",)])
def test_a_command_line_that_names_no_verb_is_shown_all_of_them(kumi: Kumi, words: tuple[str, ...]) -> None:
    ended = kumi(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip() == kumi(*words, "--help").out.strip()


def test_flags_stand_before_or_after_the_verb(shop: Kumi, tmp_path: Path) -> None:
    shop("task", "add", "x")
    for words in (("--json", "task", "ls"), ("task", "--json", "ls"), ("task", "ls", "--json")):
        assert shop(*words).json["tasks"][0]["title"] == "x"
    other = tmp_path / "other.db"
    assert shop("project", "ls", "--db", other, "--json").json == {"projects": []}
    assert other.is_file()


def test_the_language_is_that_of_the_flag_else_the_environment_else_the_locale(
    shop: Kumi, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not japanese(shop("task", "show", 9).err)
    assert japanese(shop("--lang", "ja", "task", "show", 9).err)
    monkeypatch.setenv("LANG", "ja_JP.UTF-8")
    assert japanese(shop("task", "show", 9).err)
    monkeypatch.setenv("KUMI_LANG", "en")
    assert not japanese(shop("task", "show", 9).err)
    monkeypatch.setenv("KUMI_LANG", "ja")
    assert not japanese(shop("task", "show", 9, "--lang", "en").err)
    assert japanese(shop("task", "add", "x").out)
    assert japanese(shop("task", "ls").out)
    assert japanese(shop("taks").err)


def test_settings_come_from_the_repository_before_the_users_own(shop: Kumi, home: Path, tmp_path: Path) -> None:
    (home / "config.toml").write_text(f'db = "{tmp_path}/user.db"\nlang = "ja"\n')
    assert japanese(shop("project", "ls").err)
    Path("kumi.toml").write_text(f'db = "{tmp_path}/repository.db"\n')
    shop("project", "ls")
    assert (tmp_path / "user.db").is_file()
    assert (tmp_path / "repository.db").is_file()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("this is = = not toml [[[\n", "line 1"),
        ("\nmax_concurent = 3\n", "kumi.toml:2"),
        ("max_concurrent = 'many'\n", "kumi.toml:1"),
        ("[clients.codex]\ncommand = 'codex'\n", "kumi.toml:2"),
        ("lang = 'fr'\n", "kumi.toml:1"),
        ("admission = 'never'\n", "kumi.toml:1"),
        ("\nmax_concurrent = 0\n", "kumi.toml:2"),
        ("silence_timeout_ms = -1\n", "kumi.toml:1"),
        ("[agents.a]\nclient = 'codex'\n[agents.b]\nclient = 'clod'\n", "kumi.toml:4"),
        ("\xff", "kumi.toml"),
        ("\n[clients.codx]\ncommand = ['x']\n", "kumi.toml:2"),
        ("[clients]\nclod = {command = ['x']}\n", "kumi.toml:2"),
        ("clients.clod.command = ['x']\n", "Known clients: claude-code"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(shop: Kumi, content: str, said: str) -> None:
    Path("kumi.toml").write_bytes(content.encode("latin-1"))
    ended = shop("task", "ls")
    assert ended.code == 3
    assert said in ended.err


def test_every_global_flag_has_its_variable(shop: Kumi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUMI_JSON", "1")
    assert shop("project", "ls").json["projects"][0]["name"] == "shop"
    monkeypatch.setenv("KUMI_PROJECT", "nothing")
    assert shop("task", "ls").code == 5
    monkeypatch.setenv("KUMI_DB", str(tmp_path / "other.db"))
    assert shop("project", "ls").json == {"projects": []}
    monkeypatch.setenv("KUMI_JSON", "0")
    assert shop("project", "ls").out == ""


def test_a_bad_value_in_the_environment_is_a_configuration_error(shop: Kumi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUMI_MAX_CONCURRENT", "none")
    ended = shop("task", "ls")
    assert ended.code == 3
    assert "KUMI_MAX_CONCURRENT" in ended.err
    assert "Mend the file" not in ended.err


def test_a_database_that_can_not_be_used_ends_with_4_and_is_left_alone(shop: Kumi, tmp_path: Path) -> None:
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"no database at all\n" * 100)
    assert shop("--db", junk, "task", "ls").code == 4
    assert junk.read_bytes() == b"no database at all\n" * 100
    assert shop("--db", junk / "below" / "x.db", "task", "ls").code == 4
    assert shop("--db", "postgresql://nobody@127.0.0.1:1/nothing", "task", "ls").code == 4


def test_a_password_of_the_database_is_never_printed(shop: Kumi) -> None:
    ended = shop("--db", "postgresql://kumi:geheim@127.0.0.1:1/nothing", "task", "ls")
    assert "geheim" not in ended.err + ended.out


def test_text_of_others_can_not_steer_the_terminal(shop: Kumi) -> None:
    shop("task", "add", "x", "--description", "-", stdin=b"\x1b[31mred\x07 \xe2\x80\xae")
    assert "\x1b" not in (out := shop("task", "show", 1).out)
    assert "\\x1b[31mred\\x07 \\u202e" in out


def test_a_verb_without_a_project_says_how_to_get_one(kumi: Kumi) -> None:
    ended = kumi("task", "ls")
    assert ended.code == 3
    assert "kumi init" in ended.err


def test_a_list_of_verbs_says_of_each_a_whole_sentence(kumi: Kumi) -> None:
    from kumihimo.surfaces.cli.verbs import GROUPS

    for words in ((), *(path.split() for path in GROUPS)):
        said = kumi(*words, "--help").out.partition("\nCommands:\n")[2]
        rows = re.sub(r"\n {4,}", " ", said.partition("\n\n")[0]).strip().splitlines()
        assert rows, words
        assert [row for row in rows if not row.endswith(".") or row.endswith("...")] == []


def test_help_has_examples_and_costs_no_database(kumi: Kumi, home: Path) -> None:
    for words in ((), ("--help",), ("task", "--help"), ("task", "add", "--help"), ("-h",)):
        assert kumi(*words).code in (0, 2)
    assert "kumi task add 'Log in" in kumi("task", "add", "--help").out
    assert not home.exists()


def test_every_verb_and_every_group_of_verbs_has_an_example_in_its_help(kumi: Kumi) -> None:
    everything = [(), *((words,) for words in GROUPS), *(verb.words.split() for verb in (*VERBS, *WAYS))]
    without = [
        words for words in everything if "\n    kumi " not in kumi(*words, "--help").out.partition("Examples:")[2]
    ]
    assert without == []


def run_process(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *words], capture_output=True, text=True, env={**os.environ, **environment}, timeout=60
    )


def test_the_version_is_answered_with_nothing_loaded_but_the_command_line() -> None:
    script = (
        "import sys; sys.argv = ['kumi', '--version']; from kumihimo.surfaces.cli.entry import main; main();"
        "print([m for m in ('click', 'msgspec', 'apsw', 'rich', 'asyncio', 'kumihimo.settings') if m in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    version, loaded = printed.splitlines()
    assert version.startswith("kumi 0.")
    assert loaded == "[]"


def test_a_reader_that_goes_away_is_no_error(shop: Kumi, home: Path) -> None:
    shop("task", "add", "x")
    with subprocess.Popen([*PROGRAM, "task", "ls"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.close()
        assert writer.stderr.read() == b""
        assert writer.wait(60) == 0


def test_tables_are_drawn_on_a_terminal_and_plain_in_a_pipe(shop: Kumi) -> None:
    shop("task", "add", "組紐を編む", "--status", "backlog")
    assert shop("task", "ls").out.splitlines()[1].startswith("1   backlog")
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*PROGRAM, "task", "ls"], stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    child.wait(60)
    drawn = os.read(ours, 65536).decode()
    os.close(ours)
    assert "─" in drawn
    assert "組紐を編む" in drawn


def test_a_bug_of_ours_is_told_apart_from_a_mistake(shop: Kumi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kumihimo.surfaces.cli.invocation.open_board", lambda _: 1 / 0)
    ended = shop("task", "ls")
    assert (ended.code, "Kumihimo itself" in ended.err, "Traceback" in ended.err) == (1, True, False)
    assert "Traceback" in shop("task", "ls", "-v").err


def test_what_the_system_refuses_is_no_mistake_of_ours(shop: Kumi, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> object:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("kumihimo.surfaces.cli.invocation.open_board", full)
    ended = shop("task", "ls")
    assert (ended.code, "Kumihimo itself" in ended.err, "No space left" in ended.err) == (1, False, True)
    assert "システム" in shop("--lang", "ja", "task", "ls").err


@pytest.mark.parametrize("words", [("agent", "ls", "--json"), ("agent", "ls"), ("--version",), ("--help",)])
def test_output_that_can_not_be_written_is_told_as_such(shop: Kumi, words: tuple[str, ...]) -> None:
    # As in a shell: what is printed waits until the end.
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=60, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: The output could not be written: [Errno 28]")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("task", "add", "x", "--priority", "17"),
        ("task", "ls", "--limit", "many"),
        ("task", "ls", "7", "8"),
        ("task", "ls", "--limit"),
        ("task", "add", "x", "--no-such"),
        ("task", "add"),
        ("agent", "ls", "--json=1"),
        ("mcp", "serve", "--toolset", "resident"),
    ],
)
def test_a_mistake_in_the_command_line_is_told_in_japanese(shop: Kumi, words: tuple[str, ...]) -> None:
    ended = shop("--lang", "ja", *words)
    assert ended.code == 2
    # Names and values stay as they are; the sentence around them has no word of English.
    plain = re.sub(r"`[^`]*`|'[^']*'|--[a-z-]+|[A-Z_]+|resident", "", ended.err)
    assert not re.search("[a-z]{2}", plain), ended.err


def test_long_text_that_is_no_text_is_named_by_its_option(shop: Kumi) -> None:
    assert "'description'" in shop("task", "add", "x", "--description", "-", stdin=b"\xff\xfe").err
    assert "'dir'" in shop("project", "add", "y", "--dir", "/nowhere/at/all").err


def test_an_agent_that_is_named_to_a_server_that_is_nobody_is_warned_of() -> None:
    ended = run_process("mcp", "serve", "--toolset", "lead", "--agent-id", "agt_x", KUMI_LANG="en")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr.startswith("warning: --agent-id")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_were_closed_are_no_obstacle(shop: Kumi, closed: str) -> None:
    command = shlex.join([*PROGRAM, "task", "add", "in the dark"])
    assert subprocess.run(["/bin/sh", "-c", f"{command} {closed}"], timeout=60, check=False).returncode == 0
    assert "in the dark" in shop("task", "ls").out
