"""The README and the tutorial are typed as they stand, in an empty home, and print what they show."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kumihimo.testing.scripts import Script, install
from tests.docs.page import commands, fits, left_out
from tests.docs.terminal import ROOT, Terminal

README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    yield made
    made.close()


def type_all(terminal: Terminal, page: Path) -> None:
    for command in commands(page):
        said = terminal.type(command.text)
        shown = "\n".join(said.lines[-40:])
        where = f"{page.name}:{command.line}: {command.text}\n{shown}"
        if command.expected is None:
            assert said.code == 0, where
        else:
            assert fits(command.expected, said.lines), f"{where}\n--- the page shows:\n" + "\n".join(command.expected)


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(terminal: Terminal) -> None:
    type_all(terminal, TUTORIAL)
    assert (terminal.home / "shop" / "hello.txt").read_text() == "Hello\n"
    assert (terminal.home / "board.backup").stat().st_size > 0


@pytest.mark.slow
def test_the_readme_does_what_it_says(terminal: Terminal) -> None:
    """The repository is somebody's own, and the agent CLIs that it needs are played by scripts."""
    repository = terminal.home / "src" / "your-repository"
    repository.mkdir(parents=True)
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Mei"),
        ("config", "user.email", "mei@example.com"),
        ("commit", "-q", "--allow-empty", "-m", "Begin"),
    ):
        subprocess.run(["git", *words], cwd=repository, check=True)
    install(terminal.bin, "claude-code")
    commit = "echo Hello >> hello.txt && git add hello.txt && git commit -qm 'Say hello'"
    script = terminal.bin / "codex.json"
    Script().say("Here you are.").shell(commit).written(script)
    install(terminal.bin, "codex", script=script)
    type_all(terminal, README)
    assert (repository / "hello.txt").read_text().startswith("Hello\n")
    assert "kumihimo" in (repository / ".mcp.json").read_text()


@pytest.mark.parametrize("page", [README, TUTORIAL], ids=lambda page: page.name)
def test_nothing_that_can_be_typed_is_left_out_without_a_reason(page: Path) -> None:
    text = page.read_text("utf-8")
    kinds = re.findall(r"^```(\w*)$", text, re.MULTILINE)
    assert set(kinds) <= {"sh", "console", ""}, "another kind of block is not run"
    assert kinds[::2].count("") == 0
    marks = re.findall(r"^<!-- not run: .+ -->$", text, re.MULTILINE)
    assert len(marks) == len(left_out(page)), "a mark stands directly before its block"
    assert len(commands(page)) > 10


def test_the_readme_begins_with_a_picture_and_sets_up_every_editor() -> None:
    text = README.read_text("utf-8")
    assert "![The dashboard](docs/pictures/now-light.png)" in text
    for client in ("claude", "codex", "cursor", "gemini", "vscode", "windsurf"):
        assert f"kumi setup {client}" in text


def test_links_between_the_pages_lead_somewhere() -> None:
    pages = [README, *(ROOT / "docs").rglob("*.md")]
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"(?<!!)\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert dead == []


@pytest.mark.parametrize(
    ("shown", "printed", "alike"),
    [
        (("a ... c",), ["a   b c"], True),
        (("a ... c",), ["a b d"], False),
        (("first", "...", "last"), ["first", "x", "y", "last"], True),
        (("first", "...", "last"), ["first", "x", "y"], False),
        (("only",), ["only", "and more"], False),
        (("two  columns",), ["two            columns"], True),
    ],
)
def test_what_a_page_shows_is_held_against_what_is_printed(
    shown: tuple[str, ...], printed: list[str], alike: bool
) -> None:
    assert fits(shown, printed) is alike
