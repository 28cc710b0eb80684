"""Peers, installed at exact versions into `.bench`, once for all who need them."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent.parent / ".bench"


def node() -> str | None:
    """Node, where it can also install."""
    return shutil.which("node") if shutil.which("npm") else None


def from_npm(name: str, *packages: str) -> Path:
    """The folder that these packages are installed in; `name` changes with their versions."""
    home = CACHE / "npm" / name
    with _once(home) as missing:
        if missing:
            (home / "package.json").write_text('{"private": true}\n')
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *packages], cwd=home, check=True)
    return home


def from_pypi(name: str, *packages: str) -> Path:
    """The programs of an environment of its own."""
    home = CACHE / "pypi" / name
    programs = home / "bin"
    with _once(home) as missing:
        if missing:
            python = str(programs / "python")
            if shutil.which("uv"):
                making = ["uv", "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(home)]
                installing = ["uv", "pip", "install", "--quiet", "--python", python, *packages]
            else:
                making = [sys.executable, "-m", "venv", str(home)]
                installing = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", *packages]
            for command in (making, installing):
                subprocess.run(command, check=True)
    return programs


@contextlib.contextmanager
def _once(home: Path) -> Generator[bool, None, None]:
    """Whether it is still to be done; nobody else does it meanwhile."""
    home.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = home / ".installed"
        yield not mark.exists()
        mark.touch()
