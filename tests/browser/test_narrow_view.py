"""Windows of every width: nothing reaches out of them, lies on something else, or is too small to be read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.studio import Studio, new_context, visit

WIDTHS = (360, 640, 700, 901, 960, 1000)


@pytest.fixture(scope="module")
def told(studio: Studio) -> Studio:
    """Something to search for, and something that needs a person and says so at length."""
    lead = studio.asking
    group = lead.call("create_group", description="Narrow windows")["groupId"]
    lead.ended(*lead.run(group, studio.script().failure("a reason that goes on and on, " * 9)))
    return studio


@pytest.fixture(params=WIDTHS)
def narrow(request: pytest.FixtureRequest, browser: Browser, told: Studio) -> Iterator[Page]:
    context = new_context(browser, viewport={"width": request.param, "height": 800})
    yield told.enter(context)
    context.close()


def _is_within_window(part: Locator) -> bool:
    return part.evaluate(
        "part => part.getBoundingClientRect().right <= innerWidth && part.getBoundingClientRect().left >= 0"
    )


def test_what_is_found_stays_within_the_window(narrow: Page) -> None:
    narrow.locator("#search").fill("narrow")
    expect(narrow.locator("#hits li").first).to_be_visible()
    assert _is_within_window(narrow.locator("#hits"))
    assert narrow.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_needs_somebody_can_be_read_and_lies_on_nothing(narrow: Page) -> None:
    visit(narrow, "now")
    row = narrow.locator(".need-row").first
    said, head, acts = (row.locator(part).bounding_box() for part in (".said", ".who", ".acts"))
    assert said is not None
    assert head is not None
    assert acts is not None
    assert said["width"] >= 120
    beside = head["x"] + head["width"] <= said["x"] and said["x"] + said["width"] <= acts["x"]
    above = head["y"] + head["height"] <= said["y"] and said["y"] + said["height"] <= acts["y"]
    assert beside or above


def test_every_action_on_an_agent_is_in_the_window(narrow: Page) -> None:
    visit(narrow, "agents")
    row = narrow.locator("tr", has_text="tester")
    for name in ("Check tester now", "Edit tester"):
        assert _is_within_window(row.get_by_role("button", name=name))


def test_more_than_one_column_of_the_board_is_seen(narrow: Page) -> None:
    visit(narrow, "board")
    assert _is_within_window(narrow.locator(".column").nth(0))
    second = narrow.locator(".column").nth(1).bounding_box()
    assert second is not None
    assert second["x"] < narrow.evaluate("innerWidth") - 40
