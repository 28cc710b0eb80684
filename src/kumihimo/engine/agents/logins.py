"""Whether somebody is logged in at an agent CLI, as far as it can be seen without asking its vendor and without reading a secret.

A login leaves a file, or stands in a variable. Where a system keeps it out of sight (the keychain of macOS), or a CLI works
without one, nothing is known.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

LoginStatus = Literal["seen", "missing", "unknown"]


class Login(Struct, frozen=True):
    """Variables that stand for a login, files that one leaves, and what to do where there is neither.

    `home` is the variable that moves the CLI's own folder, which `folder` is otherwise. A name with `/` at its front is
    looked for in the user's home.
    """

    variables: tuple[str, ...]
    files: tuple[str, ...]
    folder: str
    home: str
    advice: str
    # Where a file cannot tell: its own providers need no login of its vendor.
    settings: str | None = None


_GOOGLE = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA")
LOGINS: dict[str, Login] = {
    "claude-code": Login(
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK",
         "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
        (".credentials.json",), ".claude", "CLAUDE_CONFIG_DIR", "claude /login", "settings.json",
    ),
    "codex": Login(
        ("OPENAI_API_KEY", "CODEX_API_KEY"), ("auth.json",), ".codex", "CODEX_HOME", "codex login", "config.toml"
    ),
    "gemini-cli": Login(_GOOGLE, ("oauth_creds.json", ".env", "/.env"), ".gemini", "", "gemini"),
    "qwen-code": Login(
        ("OPENAI_API_KEY", "DASHSCOPE_API_KEY", *_GOOGLE), ("oauth_creds.json", ".env", "/.env"), ".qwen", "", "qwen",
        "settings.json",
    ),
    "copilot": Login(
        ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"),
        ("config.json", "/.config/gh/hosts.yml"), ".copilot", "COPILOT_HOME", "copilot login",
    ),
}  # fmt: skip
# Words of a settings file that say who is to be asked instead of the vendor, or for a key.
_OTHERWISE = ("apiKeyHelper", "ANTHROPIC_", "model_provider", "apiKey", "envKey", "CLAUDE_CODE_USE_")


def login_status(client: str, environ: Mapping[str, str], home: Path) -> LoginStatus:
    login = LOGINS.get(client)
    if login is None:
        return "unknown"
    if any(environ.get(name) for name in login.variables):
        return "seen"
    folder = Path(environ.get(login.home) or home / login.folder)
    places = [home / name[1:] if name.startswith("/") else folder / name for name in login.files]
    if any(place.is_file() for place in places):
        return "seen"
    if sys.platform == "darwin" or _asks_others(folder, login):
        return "unknown"
    return "missing"


def looked_for(client: str, environ: Mapping[str, str], home: Path) -> str:
    """Where a login was looked for first: a variable and a file."""
    login = LOGINS[client]
    folder = Path(environ.get(login.home) or home / login.folder)
    return f"{login.variables[0]}, {folder / login.files[0]}"


def _asks_others(folder: Path, login: Login) -> bool:
    if login.settings is None:
        return False
    try:
        text = (folder / login.settings).read_text("utf-8", "replace")
    except OSError:
        return False
    return any(word in text for word in _OTHERWISE)
