"""Which files say what is behind the hub here, for the verbs that change them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from kumihimo.settings import HUB_FILES, Settings
from kumihimo.surfaces.cli.phrases import said
from kumihimo.surfaces.hubs.seats import project_folder
from kumihimo.surfaces.hubs.watched_hub import candidates


def files_of(settings: Settings) -> list[Path]:
    """Those that there are, in the order in which they count."""
    found = candidates(project_folder(settings.folder), settings.config_folder, settings.hub_config)
    return [file for file in found if file.is_file()]


def file_to_write(settings: Settings) -> Path:
    """The one that was named, else the first that the project has, else a new one there."""
    if settings.hub_config is not None:
        return settings.hub_config
    folder = project_folder(settings.folder)
    return next((file for name in HUB_FILES if (file := folder / name).is_file()), folder / HUB_FILES[0])


def told(phrase: str, name: str, file: Path, flags: dict[str, Any]) -> None:
    if flags.get("json"):
        sys.stdout.write(msgspec.json.encode({"name": name, "file": str(file)}).decode() + "\n")
    else:
        print(said(phrase, flags["language"]).format(name=name, file=file))
