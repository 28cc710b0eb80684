"""A token that opens less than everything: a Runner's calls, one instance's work, or one run."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from msgspec import Struct

TokenKind = Literal["runner", "instance", "run"]
PREFIXES: dict[TokenKind, str] = {"runner": "krun_", "instance": "kins_", "run": "kexe_"}


def strike_out_tokens(text: str) -> str:
    """The text with stars in the place of our own tokens, whosever they are."""
    shape = rf"({'|'.join(PREFIXES.values())})[0-9a-z]{{32}}"
    return re.sub(shape, lambda found: "*" * len(found[0]), text)


class Token(Struct, frozen=True):
    """What a token stands for. The token itself is not in here, nor anywhere else."""

    kind: TokenKind
    agent_id: str | None = None
    project_id: str | None = None
    execution_id: str | None = None
    instance_id: str | None = None
    created_at: datetime | None = None
