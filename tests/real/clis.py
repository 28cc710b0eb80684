"""The real CLIs: installed by npm at exact versions, and the settings that make them talk to the scripted model alone.

What stands in `args` and `env` points to the model and keeps the CLI from everything else on the network; prompts, permissions,
MCP servers and models are the product's to pass.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.real import catalogue

FOLDER = Path(os.environ.get("KUMI_REAL_CLIS") or Path(__file__).resolve().parents[2] / ".real")


@dataclass(frozen=True)
class Settings:
    """`[clients.NAME]` of a configuration."""

    command: list[str]
    args: list[str] = field(default_factory=list[str])
    env: dict[str, str] = field(default_factory=dict[str, str])
    # A model that the CLI takes, where it does not take any.
    model: str | None = None

    def toml(self, name: str) -> str:
        """As it stands in a configuration file."""
        pairs = ", ".join(f"{_quoted(key)} = {_quoted(value)}" for key, value in self.env.items())
        listed = {
            key: ", ".join(map(_quoted, values)) for key, values in (("command", self.command), ("args", self.args))
        }
        lines = [
            f"[clients.{name}]",
            *(f"{key} = [{values}]" for key, values in listed.items()),
            f"env = {{ {pairs} }}",
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Cli:
    name: str
    package: str
    version: str
    program: str
    settings: Callable[[Path, str, Path], Settings]

    def installed(self) -> Path:
        """Its program. Installed when it is not there yet, once for all processes of a test run."""
        require_node()
        home = FOLDER / f"{self.name}-{self.version}"
        program = home / "node_modules" / ".bin" / self.program
        FOLDER.mkdir(parents=True, exist_ok=True)
        with (FOLDER / f"{self.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            mark = home / ".installed"
            if not mark.exists():
                wanted = f"{self.package}@{self.version}"
                done = subprocess.run(
                    ["npm", "install", "--prefix", home, "--no-audit", "--no-fund", "--silent", wanted],
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
                assert done.returncode == 0, f"npm install {wanted}: {done.stdout}{done.stderr}"
                mark.touch()
        return program

    def pointed_at(self, url: str, home: Path) -> Settings:
        """The settings for a model at this URL, with a home of its own."""
        home.mkdir(parents=True, exist_ok=True)
        return self.settings(self.installed(), url, home)


def require_node() -> None:
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: the real CLIs can't be run")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _claude(program: Path, url: str, home: Path) -> Settings:
    quiet = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC DISABLE_AUTOUPDATER DISABLE_TELEMETRY DISABLE_ERROR_REPORTING"
    return Settings(
        [str(program)],
        env={
            "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "scripted",
            # Every tool is on offer at once; otherwise the model has to look for ours first.
            "ENABLE_TOOL_SEARCH": "false",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            **dict.fromkeys(quiet.split(), "1"),
        },
        model="claude-sonnet-4-5",
    )  # fmt: skip


def _codex(program: Path, url: str, home: Path) -> Settings:
    # It does not make this folder itself.
    (home / ".codex").mkdir(exist_ok=True)
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    provider = (
        f'{{name="scripted",base_url="{url}/v1",env_key="SCRIPTED_KEY",wire_api="responses",'
        "request_max_retries=1,stream_max_retries=1}"
    )
    options = [
        f'model="{catalogue.MODEL}"', f'model_catalog_json="{catalogue.write(home)}"',
        'model_provider="scripted"', f"model_providers.scripted={provider}",
        "analytics.enabled=false", "check_for_update_on_startup=false", 'web_search="disabled"',
    ]  # fmt: skip
    return Settings(
        [str(program)],
        ["--disable", "plugins", *(word for option in options for word in ("-c", option))],
        # Its home is among temporary files here, where it would lay down no programs; and without one of those it can't use an
        # older bubblewrap that a machine may have.
        {
            "HOME": str(home),
            "CODEX_HOME": str(home / ".codex"),
            "TMPDIR": str(temporary),
            "SCRIPTED_KEY": "scripted",
        },
        catalogue.MODEL,
    )


def _gemini(program: Path, url: str, home: Path) -> Settings:
    # How to log in is a setting of the user's alone: with a URL in the environment, it takes that for another way.
    own = home / ".gemini"
    own.mkdir(exist_ok=True)
    quiet = {"privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False}}
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}, **quiet}
    general = {"general": {"enableAutoUpdate": False, "maxAttempts": 2}}
    (own / "settings.json").write_text(json.dumps({**chosen, **general}), "utf-8")
    return Settings(
        [str(program)],
        env={
            "HOME": str(home), "GEMINI_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_NO_RELAUNCH": "true", "GEMINI_CLI_TRUST_WORKSPACE": "true", "NO_COLOR": "1",
        },
        model="gemini-2.5-pro",
    )  # fmt: skip


CLIS = (
    Cli("claude-code", "@anthropic-ai/claude-code", "2.1.325", "claude", _claude),
    Cli("codex", "@openai/codex", "0.166.0", "codex", _codex),
    Cli("gemini-cli", "@google/gemini-cli", "0.61.0", "gemini", _gemini),
)
