"""The real MCP servers: each installed at an exact version, by npm or into a Python environment of its own."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.real.clis import FOLDER, require_node


@dataclass(frozen=True)
class Installation:
    """`packages` are those of npm or of PyPI, with their versions; `programs` is the folder where their commands are."""

    name: str
    packages: tuple[str, ...]
    python: bool = False

    @property
    def programs(self) -> Path:
        return self._home / ("bin" if self.python else "node_modules/.bin")

    @property
    def _home(self) -> Path:
        versions = [package.rpartition("==" if self.python else "@")[2] for package in self.packages]
        return FOLDER / "-".join([self.name, *dict.fromkeys(versions)])

    def program(self, name: str) -> Path:
        """One of its commands. Installed when it is not there yet, once for all processes of a test run."""
        if not self.python:
            require_node()
        FOLDER.mkdir(parents=True, exist_ok=True)
        with (FOLDER / f"{self.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            mark = self._home / ".installed"
            if not mark.exists():
                for argv in self._install():
                    done = subprocess.run(argv, capture_output=True, text=True, check=False)
                    assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
                mark.touch()
        return self.programs / name

    def _install(self) -> list[list[str]]:
        if not self.python:
            return [
                ["npm", "install", "--prefix", str(self._home), "--no-audit", "--no-fund", "--silent", *self.packages]
            ]
        python = str(self.programs / "python")
        if shutil.which("uv"):
            return [
                ["uv", "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(self._home)],
                ["uv", "pip", "install", "--quiet", "--python", python, *self.packages],
            ]
        quiet = ["--quiet", "--disable-pip-version-check"]
        return [
            [sys.executable, "-m", "venv", str(self._home)],
            [python, "-m", "pip", "install", *quiet, *self.packages],
        ]


REFERENCE = Installation(
    "mcp-servers",
    (
        "@modelcontextprotocol/server-everything@2026.8.31",
        "@modelcontextprotocol/server-filesystem@2026.8.31",
        "@modelcontextprotocol/server-memory@2026.8.31",
    ),
)
PYTHON = Installation("mcp-python-servers", ("mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"), python=True)
# With a language server that needs nothing from anywhere.
SERENA = Installation("serena", ("serena-agent==2.1.0", "basedpyright==1.40.2"), python=True)


def alone(home: Path) -> dict[str, str]:
    """The environment of a hub whose servers have a home of their own and reach nothing outside this machine."""
    home.mkdir(parents=True, exist_ok=True)
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **nowhere}
