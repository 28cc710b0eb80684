"""The official conformance suite: brought by npm, run with some words, and its checks counted.

The suite and the Node that it needs are installed into `.bench/conformance` by name. What counts are the checks in the
suite's `checks.json`: a scenario without any proves nothing, whatever mark it gets.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".bench" / "conformance"
SUITE = "@modelcontextprotocol/conformance"
RUN_SECONDS = 600
# A folder of results is called after its scenario and the time.
_TIME = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


class Verdict(NamedTuple):
    """The checks of one scenario, each with what the suite says of it."""

    scenario: str
    passed: list[str]
    failed: list[str]
    warnings: list[str]


class Run(NamedTuple):
    verdicts: list[Verdict]
    said: str

    def count(self, kind: str) -> int:
        return sum(len(getattr(verdict, kind)) for verdict in self.verdicts)


def install(folder: str, package: str) -> Path:
    """The folder with this npm package in it."""
    home = CACHE / folder
    if not (home / "node_modules").is_dir():
        home.mkdir(parents=True, exist_ok=True)
        (home / "package.json").write_text('{"private": true}\n')
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", package], cwd=home, check=True)
    return home / "node_modules"


def ask(version: str, *words: str | Path) -> str:
    """What the suite prints."""
    node = install("node", "node@22") / ".bin" / "node"
    suite = install(version, f"{SUITE}@{version}") / SUITE / "dist" / "index.js"
    finished = subprocess.run(
        [node, suite, *words], timeout=RUN_SECONDS, capture_output=True, text=True, check=False
    )  # fmt: skip
    return finished.stdout + finished.stderr


def judge(name: str, version: str, *words: str | Path) -> Run:
    """One run of the suite."""
    results = CACHE / "results" / name.replace(" ", "-")
    shutil.rmtree(results, ignore_errors=True)
    said = ask(version, *words, "-o", results)
    return Run([_verdict(path, results) for path in sorted(results.rglob("checks.json"))], said)


def _verdict(path: Path, results: Path) -> Verdict:
    scenario = _TIME.sub("", path.parent.relative_to(results).as_posix())
    verdict = Verdict(scenario, [], [], [])
    kinds = {"SUCCESS": verdict.passed, "FAILURE": verdict.failed, "WARNING": verdict.warnings}
    for check in json.loads(path.read_text()):
        label = f"{scenario}: {check['id']}: {check.get('errorMessage', '')}"
        kinds.get(check["status"], []).append(label)
    return verdict


def has_npm() -> bool:
    return shutil.which("npm") is not None


def judge_all(description: str, runs: Sequence[tuple[Any, ...]], run: Callable[..., bool]) -> int:
    """Every run, or those that were asked for on the command line; the exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", help="a part of the name of the runs to do")
    parser.add_argument("--verbose", action="store_true", help="show what the suite prints")
    arguments = parser.parse_args()
    if not has_npm():
        print("npm is not installed: it brings the conformance suite", file=sys.stderr)
        return 1
    good = [run(*one, verbose=arguments.verbose) for one in runs if (arguments.only or "") in one[0]]
    return 0 if good and all(good) else 1
