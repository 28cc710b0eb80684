"""The notifications of the desktop: by `notify-send`, or by `osascript` on a Mac."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from kumihimo.domain.notice import Notice
from kumihimo.domain.notice_channel import NoticeKind
from kumihimo.engine.notifying.command import run

_SECONDS = 10.0
# The words come as arguments and are never part of the program.
_SCRIPT = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
_URGENCY: dict[NoticeKind, str] = {"needs_you": "critical", "failed": "normal", "done": "low"}


class DesktopChannel:
    name = "desktop"

    def __init__(self, kinds: tuple[NoticeKind, ...], program: str) -> None:
        self.kinds = kinds
        self._program = program

    def tell(self, notice: Notice) -> None:
        run(self._words(notice), b"", {}, _SECONDS)

    def _words(self, notice: Notice) -> list[str]:
        title = f"{notice.project}: {notice.title}" if notice.project else notice.title
        if self._program.endswith("osascript"):
            return [self._program, "-e", _SCRIPT, title, notice.text]
        return [self._program, "--app-name=Kumihimo", f"--urgency={_URGENCY[notice.kind]}", "--", title, notice.text]


def find(environ: Mapping[str, str]) -> str | None:
    """The program that can, on this machine."""
    path = environ.get("PATH")
    return shutil.which("notify-send", path=path) or shutil.which("osascript", path=path)
