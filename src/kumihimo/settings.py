"""The one reader of flags, environment and files. Flag > `KUMI_*` > `kumi.toml` of the repository > the user's `config.toml`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from kumihimo.domain.artifact_place import ArtifactPlace
from kumihimo.domain.errors import ConfigError
from kumihimo.domain.notice_channel import Channels
from kumihimo.domain.ourselves import alone_in

Language = Literal["en", "ja"]
Admission = Literal["auto", "slots"]
Count = Annotated[int, msgspec.Meta(ge=1)]
Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error")
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
    max_concurrent: Count | None = None
    agents: dict[str, RunnerAgent] = msgspec.field(default_factory=dict[str, RunnerAgent])


class HostSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[host]`: what this home is called among those that share a board, its owner's words for it, and where others reach it.
    `drain_seconds`: so long it waits for its runs when it is told to end; they go on without it if it does not wait."""

    name: str | None = None
    labels: tuple[str, ...] = ()
    url: Annotated[str, msgspec.Meta(pattern="^https?://[^/#?]+$")] | None = None
    drain_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0


class ServerSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[server]`: by which names `kumi up` may be called besides those of this machine, and its certificate for TLS.
    `insecure`: off this machine without one, because something in front of it encrypts."""

    hosts: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None
    insecure: bool = False


class LogSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[log]`: how the host process writes down what it does, and from which weight on."""

    format: Literal["text", "json"] = "text"
    level: Level = "info"


class TelemetrySection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[telemetry]`: whether OpenTelemetry is told of groups, runs and calls. Where it is told is in its own `OTEL_*`."""

    traces: bool = False


class ProjectSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[project]` of a repository's file."""

    name: str | None = None


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a settings file may hold."""

    db: str | None = None
    lang: Language | None = None
    max_concurrent: Count | None = None
    admission: Admission | None = None
    silence_timeout_ms: Count | None = None
    check_timeout_ms: Count | None = None
    project: ProjectSection | None = None
    clients: dict[str, Client] | None = None
    agents: dict[str, AgentDefinition] | None = None
    retention: Retention | None = None
    runner: RunnerSection | None = None
    hub: HubSection | None = None
    server: ServerSection | None = None
    host: HostSection | None = None
    artifacts: ArtifactPlace | None = None
    notifications: Channels | None = None
    log: LogSection | None = None
    telemetry: TelemetrySection | None = None


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
    server: ServerSection = ServerSection()
    host: HostSection = HostSection()
    artifacts: ArtifactPlace = ArtifactPlace()
    notifications: Channels = Channels()
    log: LogSection = LogSection()
    telemetry: TelemetrySection = TelemetrySection()

    def door_path(self, folder: Path) -> str:
        """Where our MCP has what an agent of this project needs: its own work, and the hub where the project has one."""
        # Put together as text: on the way of every start.
        places = [f"{place}/{name}" for place in (folder, self.config_folder) for name in HUB_FILES]
        if not (self.hub.agents and (self.hub_config or any(map(_has_servers, places)))):
            return WORKER_PATH
        return "/mcp/hub,worker?expose=all" if self.hub.expose == "all" else "/mcp/hub,worker"

    def keeps(self, folder: Path) -> bool:
        """Whether a folder, wherever links lead, is one in which we keep tokens, what runs printed, or the board."""
        found = folder.resolve()
        own = [it.resolve() for it in (self.config_folder, self.data_folder, self.state_folder)]
        inside = [it / name for it in own for name in ("runs", "logins")]
        return found in own or any(found.is_relative_to(it) for it in inside)

    @property
    def token_file(self) -> Path:
        return self.state_folder / "token"


def _has_servers(place: str) -> bool:
    """Not where `kumi setup` alone has written: that is ourselves."""
    return os.path.isfile(place) and not (place.endswith(".json") and alone_in(Path(place)))  # noqa: PTH113


def load(flags: Flags, environ: Mapping[str, str], folder: Path) -> Settings:
    """Everything that was said, put together. ConfigError names the file, and the line where it is known."""
    config, data, state = folders(environ)
    user = _read(config / "config.toml")
    repository = _read(_nearest(folder))
    _require_own(repository, folder)

    def first(flag: Any, name: str, fallback: Any) -> Any:
        said = environ.get(f"KUMI_{name.upper()}") or None
        asked = (flag, said, getattr(repository, name), getattr(user, name))
        return next((value for value in asked if value is not None), fallback)

    return Settings(
        config_folder=config,
        data_folder=data,
        state_folder=state,
        folder=folder,
        database=_database(first(flags.db, "db", None), data),
        project=flags.project or environ.get("KUMI_PROJECT") or None,
        language=_language(first(flags.lang, "lang", None), environ),
        verbose=_verbose(flags, environ),
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
        server=user.server or ServerSection(),
        host=user.host or HostSection(),
        artifacts=user.artifacts or ArtifactPlace(),
        notifications=user.notifications or Channels(),
        log=_log(repository.log or user.log or LogSection(), flags, environ),
        telemetry=_telemetry(repository.telemetry or user.telemetry or TelemetrySection(), environ),
    )


def from_environment(where: str, text: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """The variable that `${NAME}` names, and its value. A secret stands in no file: any other text is a ConfigError."""
    name = text[2:-1] if text.startswith("${") and text.endswith("}") else ""
    if not (name.isidentifier() and name.isascii()):
        raise ConfigError(where, "bad_setting", reason='it is to name a variable, as in "${NAME}"')
    value = environ.get(name)
    if not value:
        raise ConfigError(where, "no_variable", name=name)
    return name, value


def language_of(environ: Mapping[str, str], flag: str | None = None) -> Language:
    """The language alone, for what must be said before or although the settings can't be read."""
    asked = flag or environ.get("KUMI_LANG")
    return asked if asked in ("en", "ja") else _locale(environ)


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
        file = msgspec.convert(found, File)
    except msgspec.ValidationError as error:
        from kumihimo.domain.setting_mistakes import located

        raise located(path, raw.decode(), str(error)) from None
    if file.clients or file.agents:
        _require_clients(file, path, raw.decode())
    return file


def _require_clients(file: File, path: Path, text: str) -> None:
    from kumihimo.domain.setting_mistakes import require_client, require_known_clients

    require_known_clients(path, text, file.clients or {})
    for name, agent in (file.agents or {}).items():
        require_client(path, text, name, agent.client)


def _database(asked: str | None, data: Path) -> str:
    if asked is None:
        return str(data / "kumi.db")
    if "://" in asked:
        return asked
    return str(Path(asked).expanduser().absolute())


def _file(asked: str | None, folder: Path) -> Path | None:
    return (folder / Path(asked).expanduser()).absolute() if asked else None


def _language(asked: str | None, environ: Mapping[str, str]) -> Language:
    if asked is None:
        return _locale(environ)
    if asked not in ("en", "ja"):
        raise ConfigError("KUMI_LANG", "bad_language", value=asked)
    return asked


def _locale(environ: Mapping[str, str]) -> Language:
    spoken = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), "")
    return "ja" if spoken.startswith("ja") else "en"


def _positive(name: str, value: int | str) -> int:
    if isinstance(value, int) and value > 0:
        return value
    if isinstance(value, str) and value.isascii() and value.isdigit() and int(value) > 0:
        return int(value)
    raise ConfigError(f"KUMI_{name.upper()}", "bad_value", reason=f"{value!r} is not a number above 0")


def _runner(repository: RunnerSection, user: RunnerSection) -> RunnerSection:
    most = user.max_concurrent if repository.max_concurrent is None else repository.max_concurrent
    return RunnerSection(repository.server or user.server, most, {**user.agents, **repository.agents})


def _admission(value: str) -> Admission:
    if value == "auto" or value == "slots":
        return value
    raise ConfigError("KUMI_ADMISSION", "bad_value", reason=f"{value!r} is neither 'auto' nor 'slots'")


def _require_own(repository: File, folder: Path) -> None:
    """Some things only the user may say: whom notices go to, and who may come in. A repository may have been cloned from
    anywhere."""
    for name in ("notifications", "server", "host", "artifacts"):
        if getattr(repository, name) is not None:
            reason = f"[{name}] belongs into the user's config.toml"
            raise ConfigError(str(_nearest(folder)), "bad_setting", reason=reason)


def _verbose(flags: Flags, environ: Mapping[str, str]) -> bool:
    return flags.verbose or environ.get("KUMI_VERBOSE", "") not in ("", "0")


def _log(section: LogSection, flags: Flags, environ: Mapping[str, str]) -> LogSection:
    asked = "debug" if _verbose(flags, environ) else environ.get("KUMI_LOG") or section.level
    level = next((level for level in LEVELS if level == asked), None)
    if level is None:
        raise ConfigError("KUMI_LOG", "bad_value", reason=f"{asked!r} is none of {', '.join(LEVELS)}")
    return msgspec.structs.replace(section, level=level)


def _telemetry(section: TelemetrySection, environ: Mapping[str, str]) -> TelemetrySection:
    """Also on where OpenTelemetry's own variables say where to; off where they say that."""
    told = bool(environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"))
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return TelemetrySection((section.traces or told) and not off)
