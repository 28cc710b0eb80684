"""How long a command takes from nothing, and what the shortest one loads."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tables import budget, median, show

ROUNDS = 11
KUMI = str(Path(sys.executable).with_name("kumi"))
# What none of the first command's work needs.
FOREIGN = ("apsw", "argon2", "asyncio", "click", "msgspec", "psycopg", "rich", "sqlite3")


def wall(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return (time.perf_counter() - started) * 1000


def loaded(arguments: list[str], environment: dict[str, str]) -> set[str]:
    """The modules that a command has loaded when it is done."""
    program = (
        "import sys, atexit; before = set(sys.modules); "
        "atexit.register(lambda: print(*sorted(set(sys.modules) - before), file=sys.stderr)); "
        f"sys.argv = ['kumi', *{arguments!r}]; from kumihimo.surfaces.cli.entry import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return set(done.stderr.split())


def run(folder: Path) -> None:
    environment = {**os.environ, "KUMI_HOME": str(folder / "home")}
    place = folder / "shop"
    place.mkdir()
    subprocess.run([KUMI, "init", str(place)], check=True, capture_output=True, env=environment, cwd=place)
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "kumi --version": [KUMI, "--version"],
        "kumi --help": [KUMI, "--help"],
        "kumi task ls": [KUMI, "--project", "shop", "task", "ls"],
        "kumi task ls --json": [KUMI, "--project", "shop", "task", "ls", "--json"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(wall(command, environment))
    bare = median(times["python -c pass"])
    lines = [[name, median(found), min(found), median(found) / bare] for name, found in times.items()]
    show(f"From nothing to done, ms of wall time (median of {ROUNDS})", ["command", "median", "least", "x pass"], lines)
    modules = loaded(["--version"], environment)
    ours = sorted(name for name in modules if name.startswith("kumihimo"))
    print(f"  --version loads {len(modules)} modules: {', '.join(ours)} and {len(modules) - len(ours)} of Python's own")
    foreign = sorted(name for name in FOREIGN if name in modules)
    print(f"  of what it does not need: {', '.join(foreign) or 'nothing'}")
    budget("foreign modules of --version", len(foreign), 0, "")
