"""Where the command was typed: whose home, which repository, which system."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from kumihimo.engine.worktrees.marks import is_repository
from kumihimo.settings import PROJECT_FILE
from kumihimo.surfaces.cli.setup.refusal import Refusal

Scope = Literal["repo", "user"]


class Place(Struct, frozen=True):
    """`root` is the repository or project around the folder, where there is one."""

    folder: Path
    root: Path | None
    home: Path | None
    environ: Mapping[str, str]
    platform: str

    def in_home(self, *parts: str) -> str:
        if self.home is None:
            raise Refusal("no_home")
        return str(self.home.joinpath(*parts))

    def in_repository(self, *parts: str) -> str:
        """A file of the repository; of this folder where there is none and the repository was asked for."""
        return str((self.root or self.folder).joinpath(*parts))

    def moved(self, variable: str, *parts: str) -> str | None:
        """A file below the folder that the variable names, or None where it is not set."""
        asked = self.environ.get(variable)
        return str((self.folder / asked).joinpath(*parts)) if asked else None

    def usual_scope(self) -> Scope:
        """The repository if we are in one. A home that is itself a repository (of dotfiles) is still a home."""
        if self.root is None:
            return "user"
        return "user" if self.home is not None and self.root.resolve() == self.home.resolve() else "repo"


def place_of(folder: Path, environ: Mapping[str, str]) -> Place:
    home = environ.get("HOME")
    return Place(folder, _root(folder), Path(home) if home else None, environ, sys.platform)


def _root(folder: Path) -> Path | None:
    """The nearest folder above that is a git repository or has our settings."""
    for place in (folder, *folder.parents):
        if is_repository(place) or (place / PROJECT_FILE).is_file():
            return place
    return None
