"""Levels of log messages, least severe first."""

from typing import Final, Literal

Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

SEVERITY: Final[dict[str, int]] = {
    "debug": 0,
    "info": 1,
    "notice": 2,
    "warning": 3,
    "error": 4,
    "critical": 5,
    "alert": 6,
    "emergency": 7,
}
UNASKED: Final = SEVERITY["info"]
"""What a client with a handshake gets that never set a level."""
SILENT: Final = 100
"""No message at all: a stateless request without a level."""
