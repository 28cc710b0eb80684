"""What a process of a server uses, as the machine tells it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple


class Usage(NamedTuple):
    per_second: float
    processor_microseconds: float
    """What one call costs the server: steadier on a busy machine than calls in a second."""


def resident_megabytes(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(shown.stdout) / 1024


def usage(pid: int) -> float:
    """Seconds of processor time so far; not a number where the machine does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
