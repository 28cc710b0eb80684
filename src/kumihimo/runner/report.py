"""A report: what the Runner tells the server of an instance."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

# The key of `_meta` for the last words of an instance: no argument of the tool, which S1 has fixed.
LAST_LINES = "kumihimo/lastLines"
State = Literal["starting", "alive", "exited"]


class Report(Struct, frozen=True, kw_only=True, omit_defaults=True):
    agent_id: str
    project_id: str
    instance_id: str
    state: State
    working_directory: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    last_lines: str | None = None

    def arguments(self) -> dict[str, Any]:
        """As `report_instance` takes them."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if name != "last_lines"}

    def beside(self) -> dict[str, str]:
        """What is told beside the arguments, to a server that knows it."""
        return {} if self.last_lines is None else {LAST_LINES: self.last_lines}
