"""`/openapi.json` as Schemathesis reads it: nothing that it can think of gets an answer that is not described there.

It makes requests from the description, right ones and wrong ones, at the edges of every type, and holds each answer against
the description. Not asked of it is that every request which fits the schema is accepted: that a name is not blank and a text
holds no control characters is a rule of the board, told with 400 and a sentence, and no schema says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kumihimo.operations.catalogue import every
from tests.mcp.http_door import HttpDoor, open_door
from tests.mcp.town import Town

ROOT = Path(__file__).parents[2]
BOUND_SECONDS = 240
EXAMPLES = 3
SEED = 20261116


@pytest.fixture
def door(town: Town, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpDoor]:
    """A door of somebody who has nothing: no logins, no servers of other clients, no agent CLI."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(shutil.which("git") or "/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    town.task("something to be found")
    yield from open_door(town)


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_schemathesis_finds_no_server_error_and_nothing_undescribed(door: HttpDoor, tmp_path: Path) -> None:
    (tmp_path / "thrown-away").mkdir()
    tried = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{door.running.url}/openapi.json"),
            *("--header", f"Authorization: Bearer {door.owner}", "--phases", "examples,coverage,fuzzing"),
            *("--seed", str(SEED), "--max-examples", str(EXAMPLES), "--exclude-checks", "positive_data_acceptance"),
            *("--request-timeout", "30", "--warnings", "off", "--no-color", "--no-shrink"),
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            "SCHEMATHESIS_HOOKS": "tests.mcp.schemathesis_hooks",
            "PYTHONPATH": str(ROOT),
            "KUMI_TEST_FOLDER": str(tmp_path / "thrown-away"),
        },
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert tried.returncode == 0, tried.stdout[-6000:] + tried.stderr[-2000:]
    assert f"Tested: {len(every())}" in tried.stdout, "every operation was tried"
