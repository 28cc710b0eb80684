"""Why nothing was written."""

from __future__ import annotations

from kumihimo.settings import Language
from kumihimo.surfaces.cli.exit_codes import CONFIGURATION
from kumihimo.surfaces.cli.setup.phrases import SAID, said


class Refusal(Exception):
    """Nothing was changed. `key` is a phrase, `facts` fill it in; a `reason` may be a phrase itself."""

    def __init__(self, key: str, exit_code: int = CONFIGURATION, **facts: str | int) -> None:
        super().__init__(key)
        self.key = key
        self.exit_code = exit_code
        self.facts = facts

    def sentence(self, language: Language) -> str:
        facts = dict(self.facts)
        reason = facts.get("reason")
        if isinstance(reason, str) and reason in SAID:
            facts["reason"] = said(reason, language)
        return said(self.key, language).format_map(facts)


class Unreadable(Exception):
    """A text that is not what its file name promises. `reason` is a phrase, or the words of the parser."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason
