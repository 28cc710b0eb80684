"""Each real CLI as a worker: in a worktree of its own, started by us or by whoever pastes the command, and merged."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.clis import CLIS, Cli
from tests.real.model import Model
from tests.real.product import AGENT, Product

pytestmark = pytest.mark.real


@pytest.fixture(scope="module", params=CLIS, ids=lambda cli: cli.name)
def product(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    cli: Cli = request.param
    cli.installed()
    with Model() as model:
        made = Product(cli, model, tmp_path_factory.mktemp(cli.name))
        who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
        for words in (["init", "-q", "-b", "main"], [*who, "commit", "-q", "--allow-empty", "-m", "Begin"]):
            subprocess.run(["git", *words], cwd=made.folder, check=True, timeout=60)
        made.kumi("project", "assign", made.folder.name, AGENT)
        yield made
        made.close()


def task(product: Product) -> str:
    made = product.kumi("task", "add", "Write a page", "--description", "[[scenario:commit]]", "--assignee", AGENT,
                        "--dod", "grep -q page page.txt")  # fmt: skip
    return str(made["id"])


def test_a_worker_commits_reports_passes_its_check_and_is_merged(product: Product) -> None:
    number = task(product)

    ended = product.kumi("worker", "run", number, "--exec")

    assert (ended["status"], ended["exitCode"], ended["taskStatus"]) == ("completed", 0, "in_progress")
    proof = product.kumi("run", "show", ended["executionId"], "--proof")
    assert [commit["subject"] for commit in proof["commits"]] == ["Write the page"]
    assert [check["status"] for check in proof["checks"]] == ["passed"]
    assert proof["report"]["summary"] == "Reported by the scripted model."
    (merge,) = product.kumi("merge", number)["merges"]
    assert (merge["status"], merge["taskStatus"]) == ("merged", "done")
    assert (product.folder / "page.txt").read_text() == "a page\n"


def test_the_command_of_a_worker_works_in_anybodys_plain_shell(product: Product) -> None:
    subprocess.run(["git", "rm", "-q", "--ignore-unmatch", "page.txt"], cwd=product.folder, check=True, timeout=60)
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
    subprocess.run(
        ["git", *who, "commit", "-q", "--allow-empty", "-m", "Away"], cwd=product.folder, check=True, timeout=60
    )
    number = task(product)
    commanded = product.kumi("worker", "run", number, "--auto")

    pasted = subprocess.run(
        ["env", "-i", "/bin/sh", "-c", commanded["command"]],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert pasted.returncode == 0, pasted.stderr
    assert "Committed page.txt." in pasted.stdout
    (session,) = [one for one in product.kumi("session", "ls")["sessions"] if one["id"] == commanded["sessionId"]]
    assert (session["status"], session["exitCode"]) == ("completed", 0)
    assert (Path(commanded["worktree"]) / "page.txt").read_text() == "a page\n"
    assert product.kumi("worker", "done", number)["taskStatus"] == "done"
