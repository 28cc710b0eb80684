"""Debian's packages of what some tests need and PyPI has not, installed by whoever may. Without them those tests are skipped
and say so."""

import os
import shutil
import subprocess
import sys

PROGRAMS = {"pgbouncer": "pgbouncer", "openssl": "openssl", "ip": "iproute2", "bwrap": "bubblewrap"}
_SECONDS = 600


def missing() -> list[str]:
    """The packages of programs that are not there. Some are meant for root alone."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
    return [package for name, package in PROGRAMS.items() if shutil.which(name, path=path) is None]


def main() -> int:
    packages = missing()
    if packages and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        # A machine that was never told has no list of packages, or an old one.
        for words in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
            subprocess.run(["apt-get", "--quiet", *words], check=False, timeout=_SECONDS, env=quiet)
    if left := missing():
        print(f"not installed: {', '.join(left)}. Tests that need them are skipped.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
