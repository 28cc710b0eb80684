"""Where `kumi` starts. The version is answered without loading anything else."""

from __future__ import annotations

import os
import sys


def main() -> None:
    _fill_standard_streams()
    arguments = sys.argv[1:]
    if asked := os.environ.get("_KUMI_COMPLETE"):
        from kumihimo.surfaces.cli.completion import answer

        sys.exit(answer(asked))
    if arguments in (["--version"], ["-V"]):
        from kumihimo import __version__

        try:
            print(f"kumi {__version__}", flush=True)
        except OSError:
            # Told below, as of any other output that can't be written.
            pass
        else:
            return
    from kumihimo.surfaces.cli import quick

    flags = quick.read(arguments)
    if flags is not None:
        sys.exit(quick.serve(flags))
    from kumihimo.surfaces.cli.program import run

    sys.exit(run(arguments))


def _fill_standard_streams() -> None:
    """Who starts us may have closed them: then the first file that we open, a database for one, would be what we print to."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)
