"""Ways on which notices leave the house, as the settings have them. What is not there is off."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

NoticeKind = Literal["needs_you", "failed", "done"]
KINDS: tuple[NoticeKind, ...] = ("needs_you", "failed", "done")


class Webhook(Struct, frozen=True, forbid_unknown_fields=True):
    """`[notifications.webhook]`: `url` and `secret` may be `"${NAME}"` of the environment; a secret must be."""

    url: str
    secret: str | None = None
    kinds: tuple[NoticeKind, ...] = KINDS
    timeout_ms: int = 10_000


class CommandHook(Struct, frozen=True, forbid_unknown_fields=True):
    """`[notifications.command]`: a program with its arguments, which reads the notice as JSON."""

    argv: tuple[str, ...]
    kinds: tuple[NoticeKind, ...] = KINDS
    timeout_ms: int = 30_000


class Desktop(Struct, frozen=True, forbid_unknown_fields=True):
    """`[notifications.desktop]`: the notifications of the desktop, where it has them."""

    enabled: bool = True
    kinds: tuple[NoticeKind, ...] = KINDS


class Channels(Struct, frozen=True, forbid_unknown_fields=True):
    """`[notifications]` of the user's own file."""

    webhook: Webhook | None = None
    command: CommandHook | None = None
    desktop: Desktop | None = None
