"""Runs of the scripted agent, to their end."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from kumihimo.testing.scripts import Script, command

# How each CLI is told to go on with a conversation.
RESUME = {
    "claude-code": ("-p", "--resume"),
    "codex": ("exec", "--json", "resume"),
    "gemini-cli": ("--output-format", "stream-json", "--resume"),
    "opencode": ("run", "--format", "json", "--session"),
    "copilot": ("--output-format", "json", "--resume"),
    "qwen-code": ("--output-format", "stream-json", "--resume"),
    "cursor": ("-p", "--resume"),
}
SECONDS = 60.0


def run(
    client: str, script: Script | str, folder: Path, *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The agent with this prompt on stdin, in this folder."""
    prompt = script if isinstance(script, str) else script.prompt()
    return subprocess.run(
        [*command(client), *arguments], input=prompt.encode(), cwd=folder, env={**os.environ, **(environment or {})},
        capture_output=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def begin(client: str, script: Script, folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    """The agent in a group of its own, under way; its stdin is closed behind the prompt."""
    started = subprocess.Popen(
        [*command(client), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder,
        env={**os.environ, **environment}, start_new_session=True,
    )  # fmt: skip
    assert started.stdin is not None
    started.stdin.write(script.prompt().encode())
    started.stdin.close()
    started.stdin = None
    return started


def until(true: Callable[[], object]) -> None:
    """Waits for something that a process does by itself, and says so when it never comes."""
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.005)
