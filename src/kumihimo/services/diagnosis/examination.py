"""An examination: what is looked at, whether it may be mended, and the words for what is found."""

from __future__ import annotations

from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.finding import Finding, Verdict
from kumihimo.domain.messages import render
from kumihimo.domain.messages.findings import finding_text
from kumihimo.settings import Settings


class Examination:
    def __init__(self, settings: Settings, *, fix: bool) -> None:
        self.settings = settings
        self.fix = fix

    def plain(self, name: str, detail: str) -> Finding:
        """In order, with a fact that needs no words: a path, a version."""
        return Finding(name, "ok", detail)

    def ok(self, name: str, key: str, /, **facts: object) -> Finding:
        return self._told(name, "ok", key, facts)

    def warning(self, name: str, key: str, /, **facts: object) -> Finding:
        return self._told(name, "warning", key, facts)

    def error(self, name: str, key: str, /, **facts: object) -> Finding:
        return self._told(name, "error", key, facts)

    def mended(self, name: str, key: str, /, **facts: object) -> Finding:
        return self._told(name, "ok", key, facts, mended=True)

    def refused(self, name: str, verdict: Verdict, error: KumihimoError) -> Finding:
        """Something could not be looked at, or mended."""
        return Finding(name, verdict, render(error, self.settings.language))

    def _told(
        self, name: str, verdict: Verdict, key: str, facts: dict[str, object], *, mended: bool = False
    ) -> Finding:
        return Finding(name, verdict, finding_text(key, self.settings.language, **facts), mended)
