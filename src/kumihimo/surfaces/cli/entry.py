"""Where `kumi` starts. The version is answered without loading anything else."""

from __future__ import annotations

import os
import sys


def main() -> None:
    arguments = sys.argv[1:]
    if asked := os.environ.get("_KUMI_COMPLETE"):
        from kumihimo.surfaces.cli.completion import answer

        sys.exit(answer(asked))
    if arguments in (["--version"], ["-V"]):
        from kumihimo import __version__

        print(f"kumi {__version__}")
        return
    from kumihimo.surfaces.cli import quick

    flags = quick.read(arguments)
    if flags is not None:
        sys.exit(quick.serve(flags))
    from kumihimo.surfaces.cli.program import run

    sys.exit(run(arguments))
