"""Every figure that Kumihimo promises, beside its peers, in one run: `make bench`. `run.py startup` runs one topic."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOPICS = (
    "startup", "store_speed", "contention", "scale", "feed_order", "footprint", "hosts", "engine", "live", "doors", "gateways",
)  # fmt: skip
PROGRAMS = ("doors", "gateways")
"""Programs of their own: they load peers, which must not weigh on the others."""


def main() -> None:
    wanted = sys.argv[1:] or TOPICS
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in wanted:
        if name in PROGRAMS:
            subprocess.run([sys.executable, str(Path(__file__).parent / name / "run.py")], check=True)
            continue
        topic = importlib.import_module(name)
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kumi-bench-") as folder:
            topic.run(Path(folder))
        print(f"  ({name}: {time.monotonic() - started:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
