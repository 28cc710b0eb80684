"""The revisions of the protocol that are spoken, as a table of what each of them has."""

from typing import Final

from msgspec import Struct


class Revision(Struct, frozen=True, kw_only=True):
    """One dated revision. `handshake` says whether it opens with `initialize` or is stateless."""

    name: str
    handshake: bool = True
    batches: bool = False
    annotations: bool = True
    structured: bool = True
    """Titles, output schemas, structured content and `_meta` of definitions."""
    elicitation: bool = True
    icons: bool = True
    """Icons, and elicitation by URL, which came with them."""
    priming: bool = False
    """Streams open with an empty event that has an id, so that they can be taken up again."""


V2024_11_05: Final = Revision(name="2024-11-05", annotations=False, structured=False, elicitation=False, icons=False)
V2025_03_26: Final = Revision(name="2025-03-26", batches=True, structured=False, elicitation=False, icons=False)
V2025_06_18: Final = Revision(name="2025-06-18", icons=False)
V2025_11_25: Final = Revision(name="2025-11-25", priming=True)
V2026_07_28: Final = Revision(name="2026-07-28", handshake=False)

STATELESS: Final = V2026_07_28
LATEST_HANDSHAKE: Final = V2025_11_25
ASSUMED_OVER_HTTP: Final = V2025_03_26
"""What a client speaks that sends no version header, which came with 2025-06-18."""

REVISIONS: Final = {
    revision.name: revision for revision in (V2026_07_28, V2025_11_25, V2025_06_18, V2025_03_26, V2024_11_05)
}
SUPPORTED: Final = tuple(REVISIONS)


def negotiate(requested: str) -> Revision:
    """The revision that `initialize` answers: the requested one if it has a handshake, else the newest that has."""
    revision = REVISIONS.get(requested)
    return revision if revision is not None and revision.handshake else LATEST_HANDSHAKE
