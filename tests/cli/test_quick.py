"""The quick way into `mcp serve` reads what configurations say, and leaves the rest to the ordinary one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kumihimo.surfaces.cli import quick


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("mcp serve", {}),
        ("mcp serve --toolset runner,worker --db /x", {"--toolset": "runner,worker", "--db": "/x"}),
        ("mcp serve --toolset=manager -v", {"--toolset": "manager", "--verbose": "1"}),
        ("mcp serve --toolset resident --agent-id a", {"--toolset": "resident", "--agent-id": "a"}),
        ("mcp serve --toolset resident", None),
        ("mcp serve --toolset", None),
        ("mcp serve --help", None),
        ("mcp serve --colour red", None),
        ("mcp serve x", None),
        ("mcp serve --lang fr", None),
        ("--json mcp serve", None),
        ("task ls", None),
        ("", None),
    ],
)
def test_only_what_it_knows_goes_the_quick_way(words: str, flags: dict[str, str] | None) -> None:
    assert quick.read(words.split()) == flags


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--toolset", "nonsense"), 2),
        (("--toolset", "worker,resident", "--agent-id", "x"), 2),
        (("--toolset", "resident", "--agent-id", "agt_nobody"), 5),
        (("--toolset", "resident"), 2),
        (("--toolset", "manager"), 0),
    ],
)
def test_both_ways_end_with_the_same_code_and_say_the_same(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    environment = {"KUMI_HOME": str(tmp_path), "PATH": "/usr/bin"}
    ended = [
        subprocess.run(
            [sys.executable, "-m", "kumihimo", *first, "mcp", "serve", *words],
            input="", capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60,
        )
        for first in ((), ("--lang", "en"))
    ]  # fmt: skip
    assert [each.returncode for each in ended] == [code, code]
    assert ended[0].stderr == ended[1].stderr


def test_the_quick_way_loads_no_command_line_and_no_event_loop(tmp_path: Path) -> None:
    script = (
        "import sys; sys.argv = ['kumi', 'mcp', 'serve', '--toolset', 'manager']\n"
        "from kumihimo.surfaces.cli.entry import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ('click', 'rich', 'asyncio', 'ssl', 'argon2', 'uvicorn', 'concurrent.futures')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], input="", capture_output=True, text=True, timeout=60, cwd=tmp_path,
        env={"KUMI_HOME": str(tmp_path), "PATH": "/usr/bin"}, check=True,
    )  # fmt: skip
    assert ended.stderr.strip() == "[]"
