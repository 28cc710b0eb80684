"""Run the official conformance suite against the fixture server, and count its checks.

One line is printed for each run, `NAME: N passed, M failed`. The exit code is 1 if any check failed, or if a run had no
checks at all.
"""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

from judge import ROOT, judge, judge_all

FIXTURES = ROOT / "tests" / "conformance" / "server.py"
RUNS = (
    ("0.1.16 all", "0.1.16", ("--suite", "all")),
    ("0.2.0-alpha.12 2025-11-25", "0.2.0-alpha.12", ("--requirements", "2025-11-25")),
    ("0.2.0-alpha.12 2026-07-28", "0.2.0-alpha.12", ("--requirements", "2026-07-28")),
)


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
    with fixture_server() as url:
        found = judge(name, version, "server", "--url", url, *options)
    print(f"{name}: {found.count('passed')} passed, {found.count('failed')} failed", flush=True)
    for verdict in found.verdicts:
        for label in verdict.failed:
            print(f"  failed {label}")
    for verdict in found.verdicts:
        for label in verdict.warnings:
            print(f"  warning {label}")
    if verbose or not found.count("passed"):
        print(found.said[-8000:])
    return bool(found.count("passed")) and not found.count("failed")


if __name__ == "__main__":
    raise SystemExit(judge_all((__doc__ or "").splitlines()[0], RUNS, run))
