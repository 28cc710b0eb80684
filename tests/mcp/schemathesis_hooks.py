"""What Schemathesis is held to while it tries our API: waits are short, and files are made in a folder that is thrown away.

It is loaded by Schemathesis itself, which is another process than the tests.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import schemathesis
from schemathesis.core import NotSet

_FOLDER = Path(os.environ["KUMI_TEST_FOLDER"])
# How long to wait, in the unit of each.
_WAITS = {"instance.wait": ("timeout_ms", 20), "run.wait": ("timeout_ms", 20), "worker.wait": ("timeout", 0.02)}
_FILES = {
    "project.init": "directory",
    "project.add": "directory",
    "board.backup": "file",
    "board.restore": "file",
    "board.move": "target",
}


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, Any]) -> None:
    """What is wrong on purpose stays wrong: only values of the right type are changed."""
    operation = (case.operation.definition.raw or {}).get("operationId")
    if operation in _WAITS and isinstance(case.body, NotSet):
        case.body, case.media_type = {}, "application/json"
    if not isinstance(case.body, dict):
        return
    if operation in _WAITS:
        name, longest = _WAITS[operation]
        asked = case.body.get(name)
        if asked is None or (isinstance(asked, int | float) and not isinstance(asked, bool) and asked > longest):
            case.body[name] = longest
    name = _FILES.get(operation, "")
    if isinstance(case.body.get(name), str):
        # As a name of one part: nothing outside the folder can be meant by it.
        case.body[name] = str(_FOLDER / (quote(case.body[name], safe="")[:100] or "empty"))
