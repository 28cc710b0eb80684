"""The channels that the settings ask for, and why some of them can't work here."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from msgspec import Struct

from kumihimo.domain.errors import ConfigError
from kumihimo.domain.notice_channel import Channels, CommandHook, Desktop, Webhook
from kumihimo.engine.notifying import desktop
from kumihimo.engine.notifying.channel import Channel
from kumihimo.engine.notifying.command import CommandChannel
from kumihimo.engine.notifying.desktop import DesktopChannel
from kumihimo.engine.notifying.webhook import WebhookChannel
from kumihimo.settings import from_environment


class Opened(Struct, frozen=True):
    """`problems` has a sentence for each channel that was asked for and can't work."""

    channels: list[Channel]
    problems: dict[str, str]


def open_channels(asked: Channels, environ: Mapping[str, str]) -> Opened:
    found: list[Channel] = []
    problems: dict[str, str] = {}
    for name, settings in (("webhook", asked.webhook), ("command", asked.command), ("desktop", asked.desktop)):
        if settings is None or (isinstance(settings, Desktop) and not settings.enabled):
            continue
        try:
            found.append(_open(settings, environ))
        except (ConfigError, ValueError) as error:
            problems[name] = str(error)
    return Opened(found, problems)


def _open(settings: Webhook | CommandHook | Desktop, environ: Mapping[str, str]) -> Channel:
    match settings:
        case Webhook():
            return _webhook(settings, environ)
        case CommandHook():
            if not settings.argv or shutil.which(settings.argv[0], path=environ.get("PATH")) is None:
                raise ValueError(f"there is no program {settings.argv[0] if settings.argv else ''!r} on PATH")
            return CommandChannel(settings.argv, settings.kinds, settings.timeout_ms / 1000)
        case Desktop():
            program = desktop.find(environ)
            if program is None:
                raise ValueError("neither notify-send nor osascript is on PATH")
            return DesktopChannel(settings.kinds, program)


def _webhook(settings: Webhook, environ: Mapping[str, str]) -> Channel:
    where = "notifications.webhook"
    url = settings.url
    if url.startswith("${"):
        url = from_environment(f"{where}.url", url, environ)[1]
    secret = None
    if settings.secret is not None:
        secret = from_environment(f"{where}.secret", settings.secret, environ)[1]
    return WebhookChannel(url, secret, settings.kinds, settings.timeout_ms / 1000)
