"""Packages of npm that the tests need, installed by name into `.bench/npm`, once for all processes of a test run."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[2] / ".bench" / "npm"
SDK_1 = ("sdk-1", "@modelcontextprotocol/sdk@1.32.2")
CLIENT_2 = ("client-2", "@modelcontextprotocol/client@2.4.0")
INSPECTOR = ("inspector-2", "@modelcontextprotocol/inspector@2.12.0")
NODE_22 = ("node-22", "node@22")


def require_node() -> None:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: the clients of npm can't be tried")


def installed(folder: str, package: str, path: str | None = None) -> Path:
    """The folder that holds `node_modules` with this package. `path`: where npm is to find its programs."""
    require_node()
    home = CACHE / folder
    home.mkdir(parents=True, exist_ok=True)
    mark = home / ".installed"
    with (CACHE / f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mark.exists():
            (home / "package.json").write_text('{"private": true}\n')
            environment = {**os.environ, "PATH": path or os.environ["PATH"]}
            done = subprocess.run(
                ["npm", "install", "--silent", "--no-audit", "--no-fund", package],
                cwd=home, env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"npm install {package}: {done.stdout}{done.stderr}"
            mark.touch()
    return home


def node_22() -> Path:
    """The folder of a Node that is new enough for everything, whatever the machine has."""
    return installed(*NODE_22) / "node_modules" / ".bin"


def inspector() -> Path:
    """The start file of the Inspector. npm looks at its own Node when it picks a version, so it is run by the new one."""
    path = f"{node_22()}{os.pathsep}{os.environ['PATH']}"
    home = installed(*INSPECTOR, path=path)
    return home / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
