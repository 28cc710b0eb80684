"""Servers for sandboxes: what they may reach is what they need to run, and what a test names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.hub.hub_kit import NONE, SERVER, Scripted

PROGRAM = (sys.prefix, sys.base_prefix, str(SERVER.parent))


def walled(folder: Path, **config: Any) -> Scripted:
    """A server that may read what it is made of, and write where its script and its log are."""
    desk = folder / "desk"
    desk.mkdir()
    sandbox = {"read": [*PROGRAM, *config.pop("read", ())], "write": [str(desk), *config.pop("write", ())]}
    if "network" in config:
        sandbox["network"] = config.pop("network")
    tools = (
        {"name": "look", "does": "environment"},
        {"name": "try", "does": "attempt"},
        {"name": "child", "does": "child"},
    )
    return Scripted(desk, "alpha", *tools, config={"sandbox": sandbox, "retryPolicy": NONE, **config}, stubborn=True)
