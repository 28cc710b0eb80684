"""What goes wrong, said on stderr in the language of whoever typed."""

from __future__ import annotations

import os
import sys
from typing import Any

from kumihimo.settings import Language, language_of
from kumihimo.surfaces.cli.phrases import said

_LONGEST = 4_000


def complain(text: str, language: Language) -> None:
    from kumihimo.surfaces.cli.drawing import safe

    shown = safe(text) if len(text) < _LONGEST else safe(text[:_LONGEST]) + " …"
    print(f"{said('error', language)}: {shown}", file=sys.stderr)


def spoken(flags: dict[str, Any]) -> Language:
    """The language as far as it is known: that of the settings once they could be read."""
    return flags.get("language") or language_of(os.environ, flags.get("lang"))
