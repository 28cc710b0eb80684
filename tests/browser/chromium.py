"""Chromium: where it is, and how to get it. `python -m tests.browser.chromium` installs Debian's where that is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "No Chromium is on PATH (looked for {names}): `apt-get install chromium` as root, or your system's own package."
)
_INSTALLING_SECONDS = 900


def found() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def arguments() -> list[str]:
    # Its sandbox refuses to work for root.
    return ["--no-sandbox"] if os.geteuid() == 0 else []


def install() -> None:
    """Debian's package, by whoever may install it."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # A machine that was never told has no list of packages, or an old one that names what is there no more.
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", "--quiet", *words], check=False, timeout=_INSTALLING_SECONDS, env=quiet)


def main() -> int:
    if found() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        install()
    if found() is None:
        print(MISSING.format(names=", ".join(NAMES)), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
