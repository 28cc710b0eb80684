"""`kumi …` that dies by `kill -9` at named points: `python doomed_runner.py '[{"at": …, "when": …}]' runner …`"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.supervisor.doomed import Doom

if __name__ == "__main__":
    for kill in json.loads(sys.argv[1]):
        Doom(**kill)
    from kumihimo.surfaces.cli.program import run

    sys.exit(run(sys.argv[2:]))
