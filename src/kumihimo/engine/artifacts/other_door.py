"""The door of another host, asked for what its runs have written."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from kumihimo.engine.artifacts.artifact import ArtifactTrouble, Name, Piece
from kumihimo.engine.artifacts.asking import Answer, ask

# How many bytes a door gives at once, and how a path of it is written.
MOST_BYTES = 8 << 20
PREFIX = "/artifacts/"
SIZE = "kumi-size"
_MOST_SAID = 1 << 16


class _Problem(Struct):
    message: str = ""


class _Refused(Struct):
    error: _Problem | str = ""


def path_of(run: str, name: str) -> str:
    return f"{PREFIX}{run}/{name}"


def fetch(url: str, bearer: str, run: str, name: Name, begin: int, end: int) -> Piece | None:
    """As `Depot.read`, from a door. It may give less than was asked for."""
    query = f"?begin={begin}&end={end}"
    answer = ask(
        "GET",
        f"{url}{path_of(run, name)}{query}",
        {"authorization": f"Bearer {bearer}"},
        most=max(MOST_BYTES, _MOST_SAID),
    )
    if answer.status == 404:
        return None
    if answer.status != 200 or not answer.headers.get(SIZE, "").isdigit():
        raise ArtifactTrouble(f"it answered {answer.status} {_said(answer)}".strip())
    return Piece(answer.body, int(answer.headers[SIZE]))


def _said(answer: Answer) -> str:
    try:
        told = msgspec.json.decode(answer.body, type=_Refused).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return (told if isinstance(told, str) else told.message)[:200]
