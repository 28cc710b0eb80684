"""From a server's configuration to where the wire finds it, and what a server that is started here gets to see."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from kumihimo.hub.configuration import ServerConfig
from kumihimo.hub.guardian import VARIABLE
from kumihimo.hub.logins import authorization_of
from kumihimo.hub.sandbox import confined
from kumihimo.wire.client.targets import Command, Target, Url

_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CARRIERS: Mapping[str, Literal["streamable", "sse", "websocket"]] = {
    "http": "streamable",
    "sse": "sse",
    "websocket": "websocket",
}
BASE_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", *_PROXIES, *(name.upper() for name in _PROXIES), VARIABLE)


def environment(config: ServerConfig, ours: Mapping[str, str]) -> dict[str, str]:
    """The base and what its configuration names: what else is in ours, tokens above all, is not for servers."""
    return {**{name: ours[name] for name in BASE_ENVIRONMENT if name in ours}, **config.env}


async def target_of(config: ServerConfig, ours: Mapping[str, str], folder: Path) -> Target:
    """HubError where it can't be reached by any means that we have."""
    if config.transport == "stdio":
        assert config.command is not None, "checked when it was read"
        command = Command(
            argv=(config.command, *config.args),
            environment=environment(config, ours),
            folder=folder / config.cwd if config.cwd else folder,
            errors="inherit" if config.debug else "keep",
        )
        return command if config.sandbox is None else await confined(command, config, config.sandbox, ours)
    assert config.url is not None, "checked when it was read"
    return Url(
        url=config.url,
        headers=config.headers,
        carrier=_CARRIERS[config.transport],
        authorization=authorization_of(config, ours),
    )
