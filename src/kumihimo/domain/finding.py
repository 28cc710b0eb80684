"""A finding: one thing that was looked at when somebody asked whether everything is in order."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Verdict = Literal["ok", "warning", "error"]


class Finding(Struct, frozen=True):
    """`detail` of anything but ok says what to do. Only an error keeps Kumihimo itself from working.

    `mended`: it was not in order, and is now; `detail` then says what was done.
    """

    name: str
    verdict: Verdict
    detail: str
    mended: bool = False
