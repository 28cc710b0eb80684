from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from string import Formatter

import pytest

import kumihimo
from kumihimo.domain import errors
from kumihimo.domain.errors import KumihimoError
from kumihimo.domain.messages import LANGUAGES, nouns, problems, render
from kumihimo.domain.messages import errors as texts
from kumihimo.surfaces.cli.phrases import SAID

SOURCE = Path(kumihimo.__file__).parent
KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, KumihimoError)]
ABSTRACT = {"NotFound", "WrongState", "Refused", "StoreError"}
# Texts that programs compare: the same in every language.
NEVER_TRANSLATED = {
    "LoginRefused", "TokenRefused", "TaskRefused", "ExecutionRefused", "AgentBusy", "PermissionDenied", "ConfigError",
    "UpstreamRefused", "UpstreamNotFound",
}  # fmt: skip


def placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("kind", [kind.__name__ for kind in KINDS if kind.__name__ not in ABSTRACT])
def test_every_error_speaks_every_language_with_the_same_facts(kind: str) -> None:
    spoken = [texts(language)[kind] for language in LANGUAGES]
    assert len({frozenset(placeholders(template)) for template in spoken}) == 1
    assert (spoken[0] == spoken[1]) == (kind in NEVER_TRANSLATED)


def test_every_problem_and_noun_speaks_every_language_with_the_same_facts() -> None:
    for table in (problems, nouns):
        assert table("en").keys() == table("ja").keys()
    for key in problems("en"):
        assert placeholders(problems("en")[key]) == placeholders(problems("ja")[key]), key


def test_every_phrase_of_the_command_line_speaks_every_language_with_the_same_facts() -> None:
    for key, spoken in SAID.items():
        assert set(spoken) == set(LANGUAGES), key
        assert placeholders(spoken["en"]) == placeholders(spoken["ja"]), key


# Which argument of an error names its problem. `failure` is StartFailed or PlanFailed, whichever the verb raises.
PROBLEM_AT = {
    "InvalidValue": 1, "TaskNotReady": 1, "ConfigError": 1, "ReportRefused": 1, "NotResumable": 1,
    "NothingToMerge": 1, "ArtifactAway": 2,
    "StartFailed": 0, "PlanFailed": 0, "failure": 0,
}  # fmt: skip


def test_every_problem_that_the_code_names_has_a_sentence() -> None:
    named = set[str]()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            place = PROBLEM_AT.get(getattr(node.func, "id", "")) if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Call) and place is not None and len(node.args) > place:
                problem = node.args[place]
                if isinstance(problem, ast.Constant):
                    named.add(str(problem.value))
    assert "too_long" in named
    assert named <= set(problems("en")), named - set(problems("en"))
    assert set(problems("en")) - named <= {"near", "possible", "final"}, "a sentence that nobody says"


def test_the_tree_at_the_top_of_the_errors_is_the_tree_below_it() -> None:
    drawn = set(re.findall(r"[A-Z]\w+", str(errors.__doc__).partition("The class name")[0].partition("\n")[2]))
    assert drawn == {kind.__name__ for kind in KINDS}


def test_a_message_says_what_was_probably_meant() -> None:
    error = errors.AgentNotFound("reviewr", "reviewer")
    assert render(error, "en") == "No agent is called 'reviewr'. Did you mean 'reviewer'? `kumi agent ls` shows them."
    assert "もしかして「reviewer」" in render(error, "ja")


@pytest.mark.parametrize(
    ("allowed", "told"), [(["todo", "cancelled"], "Possible: todo, cancelled."), ([], "Nothing follows on 'done'.")]
)
def test_a_move_that_is_refused_tells_the_ways_there_are_and_where_there_are_none(
    allowed: list[str], told: str
) -> None:
    error = errors.IllegalTransition("task", 1, "done", "in_progress", allowed)
    assert render(error, "en").endswith(f"'in_progress' is not possible from there. {told}")
    assert ": ." not in render(error, "ja")
