"""Run the official conformance suite against the fixture server, and count its checks.

The suite and the Node that it needs are npm packages; they are installed into `.bench/conformance` by name. One line
is printed for each run, `NAME: N passed, M failed`, counted in the suite's `checks.json` (a scenario without checks
proves nothing, whatever mark it gets). The exit code is 1 if any check failed, or if a run had no checks at all.
"""

import argparse
import contextlib
import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".bench" / "conformance"
FIXTURES = ROOT / "tests" / "conformance" / "server.py"
SUITE = "@modelcontextprotocol/conformance"
RUNS = (
    ("0.1.16 all", "0.1.16", ("--suite", "all")),
    ("0.2.0-alpha.12 2025-11-25", "0.2.0-alpha.12", ("--requirements", "2025-11-25")),
    ("0.2.0-alpha.12 2026-07-28", "0.2.0-alpha.12", ("--requirements", "2026-07-28")),
)
RUN_SECONDS = 600


def install(folder: str, package: str) -> Path:
    """The folder with this npm package in it."""
    home = CACHE / folder
    if not (home / "node_modules").is_dir():
        home.mkdir(parents=True, exist_ok=True)
        (home / "package.json").write_text('{"private": true}\n')
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", package], cwd=home, check=True)
    return home / "node_modules"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.contextmanager
def fixture_server() -> Iterator[str]:
    """The URL of a running fixture server."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(FIXTURES), str(port)], cwd=FIXTURES.parent)
    try:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("the fixture server did not start")
            time.sleep(0.05)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


def run(name: str, version: str, options: tuple[str, ...], *, verbose: bool) -> bool:
    """One run of the suite; True if it had checks and none of them failed."""
    node = install("node", "node@22") / ".bin" / "node"
    suite = install(version, f"{SUITE}@{version}") / SUITE / "dist" / "index.js"
    results = CACHE / "results" / name.replace(" ", "-")
    shutil.rmtree(results, ignore_errors=True)
    with fixture_server() as url:
        finished = subprocess.run(
            [node, suite, "server", "--url", url, *options, "-o", results],
            timeout=RUN_SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
    passed, failed, warnings = [], [], []
    for path in sorted(results.rglob("checks.json")):
        for check in json.loads(path.read_text()):
            label = f"{path.parent.name}: {check['id']}: {check.get('errorMessage', '')}"
            kinds = {"SUCCESS": passed, "FAILURE": failed, "WARNING": warnings}
            kinds.get(check["status"], []).append(label)
    print(f"{name}: {len(passed)} passed, {len(failed)} failed", flush=True)
    for label in failed:
        print(f"  failed {label}")
    for label in warnings:
        print(f"  warning {label}")
    if verbose or not passed:
        print(finished.stdout[-4000:], finished.stderr[-4000:])
    return bool(passed) and not failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="a part of the name of the runs to do")
    parser.add_argument("--verbose", action="store_true", help="show what the suite prints")
    arguments = parser.parse_args()
    if shutil.which("npm") is None:
        print("npm is not installed: it brings the conformance suite", file=sys.stderr)
        return 1
    good = [run(*one, verbose=arguments.verbose) for one in RUNS if (arguments.only or "") in one[0]]
    return 0 if good and all(good) else 1


if __name__ == "__main__":
    raise SystemExit(main())
