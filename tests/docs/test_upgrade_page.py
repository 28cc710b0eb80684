"""The page about upgrades and backups: its commands are typed as they stand, on a board that has something to lose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.page import commands
from tests.docs.terminal import ROOT, Terminal

PAGE = ROOT / "docs" / "how-to" / "upgrade-and-back-up.md"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(tmp_path)
    made.type('export PATH="$PWD/.venv/bin:$PATH"')
    made.type("mkdir ~/shop && cd ~/shop && kumi init")
    yield made
    made.close()


@pytest.mark.slow
def test_the_page_about_backups_does_what_it_says(terminal: Terminal) -> None:
    assert terminal.type("kumi task add 'To be kept'").code == 0
    for command in commands(PAGE):
        said = terminal.type(command.text)
        assert said.code == 0, f"{PAGE.name}:{command.line}: {command.text}\n" + "\n".join(said.lines)
    assert "To be kept" in "\n".join(terminal.type("kumi task ls").lines)
    assert "To be kept" in "\n".join(terminal.type("kumi --db ~/elsewhere.db task ls --project shop").lines)
