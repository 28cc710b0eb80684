"""What we say, in every language we speak: one table per language, keyed by the code of the error.

`render` fills in the facts of an error. A problem (`too_long`, `not_a_slug`, ...) is a sentence of its own, so that
every field can have every problem. A test holds the tables against the error tree and against one another.
"""

from __future__ import annotations

from typing import Literal

from kumihimo.domain.errors import KumihimoError

Language = Literal["en", "ja"]
LANGUAGES: tuple[Language, ...] = ("en", "ja")


def render(error: KumihimoError, language: Language) -> str:
    """The error as a sentence that says what to do next."""
    table = errors(language)
    template = next(table[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in table)
    facts: dict[str, object] = dict(error.facts)
    if "near" in facts:
        facts["near"] = problems(language)["near"].format_map(facts) if facts["near"] else ""
    if "allowed" in facts:
        ways = "possible" if facts["allowed"] else "final"
        facts["ways"] = problems(language)[ways].format_map(facts)
    problem = facts.get("problem")
    if isinstance(problem, str):
        facts["problem"] = problems(language)[problem].format_map(facts)
    if "noun" in facts:
        facts["noun"] = nouns(language).get(str(facts["noun"]), facts["noun"])
    return " ".join(template.format_map(facts).split(" ")).strip()


def errors(language: Language) -> dict[str, str]:
    return _table(language)[0]


def problems(language: Language) -> dict[str, str]:
    return _table(language)[1]


def nouns(language: Language) -> dict[str, str]:
    return _table(language)[2]


def worktrees(language: Language) -> dict[str, str]:
    """Why a worktree was removed or kept."""
    if language == "ja":
        from kumihimo.domain.messages import ja as words
    else:
        from kumihimo.domain.messages import en as words
    return words.WORKTREES


def _table(language: Language) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    # Each language is loaded when it is first spoken: most processes speak one, and many none.
    if language == "ja":
        from kumihimo.domain.messages import ja as words
    else:
        from kumihimo.domain.messages import en as words
    return words.ERRORS, words.PROBLEMS, words.NOUNS
