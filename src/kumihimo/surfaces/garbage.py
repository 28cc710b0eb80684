"""How often a process that serves looks for garbage: seldom, for next to nothing of ours holds itself."""

from __future__ import annotations

import gc

# How many new things there may be before it is looked whether some of them are garbage.
_NEW = 20_000


def settle() -> None:
    """What is there by now stays until the end: to look through it again and again is a tenth of a call, and a fifth of a
    long list."""
    gc.freeze()
    gc.set_threshold(_NEW, 20, 20)
