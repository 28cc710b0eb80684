"""In which language somebody is answered over HTTP."""

from __future__ import annotations

from typing import Any

from kumihimo.settings import Language


def language_of(scope: Any, default: Language) -> Language:
    """The one that the caller would like to read, where it says so and we speak it; else that of the settings."""
    headers: dict[bytes, bytes] = dict(scope["headers"])
    wanted = headers.get(b"accept-language", b"")[:2].lower()
    return "ja" if wanted == b"ja" else "en" if wanted == b"en" else default
