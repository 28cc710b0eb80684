"""Parts of the page by themselves, in the browser that runs them."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page


def result(page: Page, module: str, expression: str, *given: Any) -> Any:
    """What an expression over the exports of a module gives; `given` is what was given."""
    return page.evaluate(
        f"async (given) => {{ const it = await import('/assets/{module}'); return {expression} }}", list(given)
    )


def signs(page: Page, before: str, after: str) -> str:
    lines = result(page, "diff.js", "it.compare(...given)", before, after)
    old = [line["text"] for line in lines if line["sign"] != "+"]
    new = [line["text"] for line in lines if line["sign"] != "-"]
    assert old == before.splitlines()
    assert new == after.splitlines()
    return "".join(line["sign"] for line in lines)


def test_a_diff_is_short_and_leads_from_one_text_to_the_other(page: Page) -> None:
    assert signs(page, "a\nb\nc\n", "a\nx\nc\n") == " -+ "
    assert signs(page, "", "new\nfile\n") == "++"
    assert signs(page, "gone\n", "") == "-"
    assert signs(page, "a\nb\nc\nd\ne\n", "b\nc\nx\nd\n") == "-  + -"
    assert signs(page, "same\n", "same\n") == " "
    long = "\n".join(str(n) for n in range(2000))
    assert signs(page, f"first\n{long}\nlast", f"premier\n{long}\nlast").count(" ") == 2001


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(0, "0 s"), (59_999, "59 s"), (270_000, "4 m 30 s"), (3_723_000, "1 h 02 m"), (90_000_000, "1 d 01 h")],
)
def test_durations_are_told_as_people_say_them(page: Page, milliseconds: int, shown: str) -> None:
    assert result(page, "format.js", "it.duration(given[0])", milliseconds) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (999, "999"), (1_234, "1.2 k"), (84_321, "84 k"), (999_499, "999 k"), (3_100_000, "3.1 M")],
)
def test_tokens_are_told_in_few_digits(page: Page, count: int, shown: str) -> None:
    assert result(page, "format.js", "it.tokens(given[0])", count) == shown


def test_text_is_cleaned_of_what_a_terminal_would_obey(page: Page) -> None:
    cleaned = result(
        page,
        "text.js",
        "it.clean(given[0])",
        "\x1b[1;31mred\x1b[0m\x1b]8;;http://x\x07link\x1b]8;;\x07\x9b2J a\u2066b\r\nc\x00d\te",
    )
    assert cleaned == "redlink a⟨U+2066⟩b\ncd\te"
    assert result(page, "text.js", "it.line(given[0], 10)", "one\n two\t three four") == "one two t…"


def test_a_plan_is_read_only_where_it_is_one(page: Page) -> None:
    roles = [{"name": "coder"}, {"name": "tester"}]
    read = "it.readPlan(given[0], given[1])"
    plan = result(page, "plan.js", read, "- coder: one\n  more\ntester: two\n---\ncoder: three\n", roles)
    assert [[wish["role"] for wish in stage] for stage in plan] == [["coder", "tester"], ["coder"]]
    assert plan[0][0]["prompt"] == "one\n  more"
    assert result(page, "plan.js", read, "Please: do this\nand that", roles) is None
    assert result(page, "plan.js", read, "coder: only one", roles) is None


def test_one_of_something_is_not_told_as_many(page: Page) -> None:
    told = "[it.words('history.count', {count: given[0]}), it.words('diff.more', {count: given[0]})]"
    assert result(page, "words.js", told, 1) == ["1 run", "1 more line"]
    assert result(page, "words.js", told, 2) == ["2 runs", "2 more lines"]
