"""Codes that open the dashboard once: made by who can read the home's folder, kept there as files, gone when used."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from pathlib import Path

GOOD_FOR_SECONDS = 600.0


class Codes:
    """In the state folder of a home. What is kept of a code does not tell the code."""

    def __init__(self, state_folder: Path) -> None:
        self._folder = state_folder / "logins"

    def make(self) -> str:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._sweep()
        code = secrets.token_urlsafe(24)
        descriptor = os.open(self._file(code), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.close(descriptor)
        return code

    def redeem(self, code: str) -> bool:
        """Whether it was good: it no longer is. Of two who come with it at once one gets in."""
        file = self._file(code)
        try:
            made_at = file.stat().st_mtime
            file.unlink()
        except FileNotFoundError:
            return False
        return abs(time.time() - made_at) <= GOOD_FOR_SECONDS

    def _file(self, code: str) -> Path:
        return self._folder / hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()

    def _sweep(self) -> None:
        """Codes that nobody came with."""
        for file in self._folder.iterdir():
            try:
                if time.time() - file.stat().st_mtime > GOOD_FOR_SECONDS:
                    file.unlink()
            except FileNotFoundError:
                # Somebody was faster: that is as good.
                continue
