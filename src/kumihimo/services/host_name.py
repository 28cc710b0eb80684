"""The name of a home among all that share its database. Apart from the host process: every door asks for it at its start."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

HOST = "host"


def known_host_id(folder: Path) -> str | None:
    """The name of this home among all that share its database; None where it has none yet."""
    try:
        return (folder / HOST).read_text("ascii").strip()
    except FileNotFoundError:
        return None


def host_id(folder: Path) -> str:
    """The name of this home among all that share its database: made once, and kept."""
    if (known := known_host_id(folder)) is not None:
        return known
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = folder / HOST
    fresh = file.with_name(f"{HOST}.{os.urandom(4).hex()}")
    fresh.write_text(f"host_{os.urandom(6).hex()}\n", "ascii")
    # A link fails where another process was first; then its name is ours.
    with suppress(FileExistsError):
        os.link(fresh, file)
    fresh.unlink()
    return file.read_text("ascii").strip()
