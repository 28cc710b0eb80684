"""From a server's configuration to where the wire finds it, and what a server that is started here gets to see."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kumihimo.hub.configuration import ServerConfig
from kumihimo.hub.errors import Code, HubError
from kumihimo.wire.client.targets import Command, Target, Url

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
BASE_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", *_PROXIES, *(name.upper() for name in _PROXIES))


def environment(config: ServerConfig, ours: Mapping[str, str]) -> dict[str, str]:
    """The base and what its configuration names: what else is in ours, tokens above all, is not for servers."""
    return {**{name: ours[name] for name in BASE_ENVIRONMENT if name in ours}, **config.env}


def target_of(config: ServerConfig, ours: Mapping[str, str], folder: Path) -> Target:
    """HubError where it can't be reached by any means that we have."""
    if config.sandbox is not None:
        # To start it without the walls that were asked for is no way out.
        raise HubError(
            Code.CANNOT_EXECUTE,
            f"The server '{config.name}' asks for a sandbox, which can't be had here. Take `sandbox` out to run it without.",
            {"server": config.name},
        )
    if config.transport == "stdio":
        assert config.command is not None, "checked when it was read"
        return Command(
            argv=(config.command, *config.args),
            environment=environment(config, ours),
            folder=folder / config.cwd if config.cwd else folder,
            errors="inherit" if config.debug else "keep",
        )
    assert config.url is not None, "checked when it was read"
    if config.transport == "http":
        return Url(url=config.url, headers=config.headers)
    raise HubError(
        Code.CONNECTION_FAILED,
        f"The server '{config.name}' is on {config.transport}, which is not spoken here: use stdio or http.",
        {"server": config.name, "transport": config.transport},
        retryable=False,
    )
