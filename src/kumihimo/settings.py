"""The one reader of flags, environment and files. Flag > `KUMI_*` > `kumi.toml` of the repository > the user's `config.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from kumihimo.domain.errors import ConfigError

Language = Literal["en", "ja"]
Admission = Literal["auto", "slots"]
PROJECT_FILE = "kumi.toml"
# Which servers are behind the hub of a project, or of a user: both forms, the first ones first.
HUB_FILES = ("mcp.config.yaml", "mcp.config.yml", ".mcp.json")
# Where our MCP has what every agent needs.
WORKER_PATH = "/mcp/worker"
# An agent that says nothing for so long hangs. The longest that a tool of theirs may take is well below it.
SILENCE_MS = 30 * 60 * 1000
# A command of a definition of done that takes longer than this is not going to end.
CHECK_MS = 10 * 60 * 1000


class Client(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[clients.NAME]`: how to start an agent CLI."""

    command: list[str] | None = None
    args: list[str] = msgspec.field(default_factory=list[str])
    env: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class AgentHub(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.NAME.hub]`: which tools behind the hub the agent may use, `server:tool` or `server`. Deny wins."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()


class AgentDefinition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[agents.NAME]`: an agent that the file defines."""

    client: str | None = None
    model: str | None = None
    description: str | None = None
    system_prompt: str | None = None
    dod: list[str] | None = None
    scope: dict[str, list[str]] | None = None
    health_check_prompt: str | None = None
    hub: AgentHub = AgentHub()


class HubSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[hub]`: what agents see of other MCP servers, and how many tokens the schemas of all tools should take at most."""

    agents: bool = True
    expose: Literal["search", "all"] = "search"
    budget: int = 25_000


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[retention]`: how long overtaken events are kept."""

    events_days: float = 30.0


class RunnerAgent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[runner.agents."agt_…"]`: an agent that this Runner may start. Its passkey is in the environment: `"${NAME}"`."""

    passkey: str


class RunnerSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[runner]`: which server it asks, how many instances it starts at once, and of which agents."""

    server: str | None = None
    max_concurrent: int | None = None
    agents: dict[str, RunnerAgent] = msgspec.field(default_factory=dict[str, RunnerAgent])


class ProjectSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[project]` of a repository's file."""

    name: str | None = None


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a settings file may hold. `server` is read by those who run it."""

    db: str | None = None
    lang: Language | None = None
    max_concurrent: int | None = None
    admission: Admission | None = None
    silence_timeout_ms: int | None = None
    check_timeout_ms: int | None = None
    project: ProjectSection | None = None
    clients: dict[str, Client] | None = None
    agents: dict[str, AgentDefinition] | None = None
    retention: Retention | None = None
    runner: RunnerSection | None = None
    hub: HubSection | None = None
    server: dict[str, Any] | None = None


class Flags(msgspec.Struct, frozen=True):
    """What was said on the command line."""

    db: str | None = None
    project: str | None = None
    lang: str | None = None
    verbose: bool = False
    hub_config: str | None = None


class Settings(msgspec.Struct, frozen=True):
    config_folder: Path
    data_folder: Path
    state_folder: Path
    folder: Path
    database: str
    project: str | None
    language: Language
    verbose: bool
    max_concurrent: int
    admission: Admission
    silence_timeout_ms: int
    check_timeout_ms: int
    clients: dict[str, Client]
    agents: dict[str, AgentDefinition]
    retention: Retention
    runner: RunnerSection = RunnerSection()
    hub: HubSection = HubSection()
    # The one file that says which servers are behind the hub, where one was named.
    hub_config: Path | None = None

    def door_path(self, folder: Path) -> str:
        """Where our MCP has what an agent of this project needs: its own work, and the hub where the project has one."""
        places = (folder, self.config_folder)
        there = self.hub_config or next((1 for place in places for name in HUB_FILES if (place / name).is_file()), None)
        if not (self.hub.agents and there):
            return WORKER_PATH
        return "/mcp/hub,worker?expose=all" if self.hub.expose == "all" else "/mcp/hub,worker"

    @property
    def token_file(self) -> Path:
        return self.state_folder / "token"


def load(flags: Flags, environ: Mapping[str, str], folder: Path) -> Settings:
    """Everything that was said, put together. ConfigError names the file, and the line where it is known."""
    config, data, state = folders(environ)
    user = _read(config / "config.toml")
    repository = _read(_nearest(folder))

    def first(flag: Any, name: str, fallback: Any) -> Any:
        asked = (
            flag,
            environ.get(f"KUMI_{name.upper()}") or None,
            getattr(repository, name),
            getattr(user, name),
        )
        return next((value for value in asked if value is not None), fallback)

    return Settings(
        config_folder=config,
        data_folder=data,
        state_folder=state,
        folder=folder,
        database=_database(first(flags.db, "db", None), data),
        project=flags.project or environ.get("KUMI_PROJECT") or None,
        language=_language(first(flags.lang, "lang", None), environ),
        verbose=flags.verbose or environ.get("KUMI_VERBOSE", "") not in ("", "0"),
        max_concurrent=_positive("max_concurrent", first(None, "max_concurrent", 10)),
        admission=_admission(first(None, "admission", "auto")),
        silence_timeout_ms=_positive("silence_timeout_ms", first(None, "silence_timeout_ms", SILENCE_MS)),
        check_timeout_ms=_positive("check_timeout_ms", first(None, "check_timeout_ms", CHECK_MS)),
        clients={**(user.clients or {}), **(repository.clients or {})},
        agents={**(user.agents or {}), **(repository.agents or {})},
        retention=repository.retention or user.retention or Retention(),
        runner=_runner(repository.runner or RunnerSection(), user.runner or RunnerSection()),
        hub=repository.hub or user.hub or HubSection(),
        hub_config=_file(flags.hub_config or environ.get("KUMI_HUB_CONFIG"), folder),
    )


def from_environment(where: str, text: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The variable that `${NAME}` names, and its value. A secret stands in no file: any other text is a ConfigError."""
    name = text[2:-1] if text.startswith("${") and text.endswith("}") else ""
    if not (name.isidentifier() and name.isascii()):
        raise ConfigError(where, "bad_setting", reason='it is to name a variable, as in "${NAME}"')
    value = environ.get(name)
    if not value:
        raise ConfigError(where, "bad_setting", reason=f"the variable {name} is not set in the environment")
    return name, value


def language_of(environ: Mapping[str, str], flag: str | None = None) -> Language:
    """The language alone, for what must be said before or although the settings can't be read."""
    asked = flag or environ.get("KUMI_LANG")
    return asked if asked in ("en", "ja") else _locale(environ)


def project_file_text(name: str) -> str:
    """The file that `kumi init` writes: every setting that a repository may have, to be uncommented."""
    return f"""\
# Settings of this repository for Kumihimo. They win over the user's own config.toml.

[project]
name = {msgspec.json.encode(name).decode()}

# max_concurrent = 10          # runs at once on one host
# silence_timeout_ms = 1800000  # a run that says nothing for so long is ended
# check_timeout_ms = 600000     # a command of a definition of done may take so long

# [agents.coder]
# client = "codex"
# dod = ["make test"]          # commands that must pass before work is done

# [clients.claude-code]
# args = ["--max-turns", "50"]  # appended to the command line

# [runner.agents."agt_..."]      # whom `kumi runner` starts
# passkey = "${{CODER_PASSKEY}}"

# [hub]                          # other MCP servers: mcp.config.yaml or .mcp.json beside this file
# expose = "all"                 # agents see their tools themselves; "search" lets them look for tools

# [retention]
# events_days = 30
"""


def folders(environ: Mapping[str, str]) -> tuple[Path, Path, Path]:
    if home := environ.get("KUMI_HOME"):
        folder = Path(home).expanduser().absolute()
        return folder, folder, folder
    user = environ.get("HOME")

    def base(variable: str, default: str) -> Path:
        if given := environ.get(variable):
            return Path(given) / "kumihimo"
        if not user:
            raise ConfigError("KUMI_HOME", "no_home")
        return Path(user) / default / "kumihimo"

    return (
        base("XDG_CONFIG_HOME", ".config"),
        base("XDG_DATA_HOME", ".local/share"),
        base("XDG_STATE_HOME", ".local/state"),
    )


def _nearest(folder: Path) -> Path:
    """The file of the repository we are in: in this folder or the nearest one above."""
    for place in (folder, *folder.parents):
        if (place / PROJECT_FILE).is_file():
            return place / PROJECT_FILE
    return folder / PROJECT_FILE


def _read(path: Path) -> File:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return File()
    except OSError as error:
        raise ConfigError(str(path), "bad_setting", reason=error.strerror or str(error)) from None
    import tomllib

    try:
        found = tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), "toml", reason=str(error)) from None
    try:
        return msgspec.convert(found, File)
    except msgspec.ValidationError as error:
        raise _located(path, raw.decode(), str(error)) from None


def _located(path: Path, text: str, reason: str) -> ConfigError:
    """The mistake with its line, found by the last key that the message names."""
    import re

    keys = re.findall(r"`(?:\$\.)?([^`]*)`", reason)
    key = keys[0].rpartition(".")[2].strip("[]") if "unknown field" in reason and keys else (keys[-1] if keys else "")
    key = re.split(r"[.\[]", key)[-1].rstrip("]") if "unknown field" not in reason else key
    numbered = [
        n
        for n, line in enumerate(text.splitlines(), 1)
        if key and re.search(rf"(^|[.\[\s]){re.escape(key)}\s*(=|\])", line)
    ]
    where = f"{path}:{numbered[0]}" if numbered else str(path)
    if "unknown field" in reason:
        return ConfigError(where, "unknown_key", key=key, near=None)
    return ConfigError(where, "bad_setting", reason=reason)


def _database(asked: str | None, data: Path) -> str:
    if asked is None:
        return str(data / "kumi.db")
    if asked.startswith(("postgresql://", "postgres://")):
        return asked
    return str(Path(asked).expanduser().absolute())


def _file(asked: str | None, folder: Path) -> Path | None:
    return (folder / Path(asked).expanduser()).absolute() if asked else None


def _language(asked: str | None, environ: Mapping[str, str]) -> Language:
    if asked is None:
        return _locale(environ)
    if asked not in ("en", "ja"):
        raise ConfigError("lang", "bad_language", value=asked)
    return asked


def _locale(environ: Mapping[str, str]) -> Language:
    spoken = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), "")
    return "ja" if spoken.startswith("ja") else "en"


def _positive(name: str, value: int | str) -> int:
    if isinstance(value, int) and value > 0:
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0:
        return int(value)
    raise ConfigError(name, "bad_setting", reason=f"{value!r} is not a number above 0")


def _runner(repository: RunnerSection, user: RunnerSection) -> RunnerSection:
    most = user.max_concurrent if repository.max_concurrent is None else repository.max_concurrent
    return RunnerSection(
        repository.server or user.server,
        None if most is None else _positive("runner.max_concurrent", most),
        {**user.agents, **repository.agents},
    )


def _admission(value: str) -> Admission:
    if value == "auto" or value == "slots":
        return value
    raise ConfigError("admission", "bad_setting", reason=f"{value!r} is neither 'auto' nor 'slots'")
