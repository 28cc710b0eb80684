from __future__ import annotations

from collections.abc import Callable

import pytest

from kumihimo.domain import text
from kumihimo.domain.errors import InvalidValue


@pytest.mark.parametrize(
    ("check", "value", "problem"),
    [
        (text.line, "", "blank"),
        (text.line, " \t ", "blank"),
        (text.line, "x" * 501, "too_long"),
        (text.line, "a\0b", "control_character"),
        (text.line, "a\nb", "control_character"),
        (text.line, "a\x1b[31mb", "control_character"),
        (text.line, "a\u202eb", "reordering_character"),
        (text.line, "a\u2066b", "reordering_character"),
        (text.line, "a\ud800b", "not_unicode"),
        (text.name, "../dev", "not_a_name"),
        (text.name, "-x", "not_a_name"),
        (text.name, "a b", "not_a_name"),
        (text.slug, "Ärger", "not_a_slug"),
        (text.slug, "a/b", "not_a_slug"),
        (text.slug, "..", "not_a_slug"),
        (text.slug, "a-", "not_a_slug"),
        (text.long, "x" * 200_001, "too_long"),
        (text.long, "a\0b", "control_character"),
        (text.long, "\udfff", "not_unicode"),
    ],
)
def test_a_bad_text_is_refused_for_its_own_reason(check: Callable[[str, str], str], value: str, problem: str) -> None:
    with pytest.raises(InvalidValue) as refusal:
        check("field", value)
    assert (refusal.value.facts["field"], refusal.value.facts["problem"]) == ("field", problem)


@pytest.mark.parametrize(
    "value", ["🎌 braid 👩‍👩‍👧 ✅", "組紐を編む", "'); DROP TABLE tasks;--", "../../etc/passwd", "عربى", "a" * 500]
)
def test_a_line_in_any_language_is_kept_as_it_is(value: str) -> None:
    assert text.line("title", value) == value


def test_long_text_keeps_every_character_it_may_hold() -> None:
    kept = "a\r\nb\tc\x1b[0m \u202e\n"
    assert text.long("description", kept) == kept


def test_names_may_be_of_any_language() -> None:
    assert [text.name("name", name) for name in ("coder", "組紐", "a.b-c_1")] == ["coder", "組紐", "a.b-c_1"]
