"""The retry policy of a task from the terminal."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Kumi


def test_a_task_says_how_often_and_after_what_it_is_tried_again(shop: Kumi) -> None:
    shop("task", "add", "Train it", "--retries", 2, "--retry-on", "rate_limited", "--retry-on", "lost")
    assert shop("task", "show", 1, "--json").json["retry"] == {"times": 2, "on": ["lost", "rate_limited"]}
    assert "times 2, on lost, rate_limited" in shop("task", "show", 1).out
    assert "やり直し" in shop("task", "show", 1, "--lang", "ja").out
    shop("task", "update", 1, "--retries", 1)
    assert shop("task", "show", 1, "--json").json["retry"] == {"times": 1, "on": ["lost", "rate_limited"]}
    shop("task", "update", 1, "--title", "Train it well")
    assert shop("task", "update", 1, "--retry-on", "exited", "--json").json["retry"] == {"times": 1, "on": ["exited"]}
    assert "retry" not in shop("task", "update", 1, "--retries", 0, "--json").json


def test_of_a_task_that_is_not_tried_again_nothing_is_said(shop: Kumi) -> None:
    shop("task", "add", "Sell it")
    assert "retry" not in shop("task", "show", 1, "--json").json
    assert "Retry" not in shop("task", "show", 1).out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--retries", 11), "from 0, for none, to 10"),
        (("--retries", -1), "from 0, for none, to 10"),
        (("--retry-on", "lost"), "say with `retries` how often"),
        (("--retries", 1, "--retry-on", "auth"), "Choose among: lost, spawn_failed"),
    ],
)
def test_what_can_not_be_is_refused_with_what_to_do_and_nothing_changes(
    shop: Kumi, words: tuple[object, ...], told: str
) -> None:
    refused = shop("task", "add", "Train it", *words)
    assert refused.code == 2
    assert told in refused.err
    assert shop("task", "ls", "--json").json["tasks"] == []
    shop("task", "add", "Train it")
    assert shop("task", "update", 1, *words, "--title", "other").code == 2
    assert shop("task", "show", 1, "--json").json["title"] == "Train it"


def test_the_help_shows_how(shop: Kumi) -> None:
    told = shop("task", "add", "--help").out
    assert "--retries" in told
    assert "--retry-on idle" in told
