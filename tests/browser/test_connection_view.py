"""The stream: what the page does when it is cut, and with what it comes back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.browser.studio import Studio, known, live, new_context
from tests.lead.shop import until


class Wire:
    """The page's stream, by which it can be cut with any code."""

    def __init__(self, page: Page) -> None:
        self.opened: list[str] = []
        self.routes: list[WebSocketRoute] = []
        page.route_web_socket("**/ws*", self._connect)

    def _connect(self, route: WebSocketRoute) -> None:
        self.opened.append(route.url)
        self.routes.append(route)
        route.connect_to_server()

    def cut(self, code: int) -> None:
        self.routes[-1].close(code=code, reason="a test")


@pytest.fixture
def wired(browser: Browser, studio: Studio) -> Iterator[tuple[Page, Wire]]:
    context = new_context(browser)
    page = context.new_page()
    wire = Wire(page)
    page.goto(studio.link())
    live(page)
    studio.kumi("task", "add", "So that there is something to come back to")
    page.wait_for_function("async () => (await import('/assets/store.js')).store.tasks.size > 0")
    yield page, wire
    context.close()


def opened_again(page: Page, wire: Wire, times: int = 2) -> str:
    """The address of the latest connection, once there are so many."""
    # Looking at the page lets the messages of the browser in.
    until(lambda: page.evaluate("1") and len(wire.opened) >= times)
    live(page)
    return wire.opened[-1]


@pytest.mark.parametrize("code", [1001, 1012, 4408])
def test_a_stream_that_was_cut_goes_on_from_where_it_was(wired: tuple[Page, Wire], code: int) -> None:
    page, wire = wired
    wire.cut(code)
    assert "cursor=" in opened_again(page, wire)


def test_a_cursor_that_nobody_knows_is_given_up_for_a_new_snapshot(wired: tuple[Page, Wire]) -> None:
    page, wire = wired
    page.evaluate("""async () => {
      const { store } = await import("/assets/store.js");
      store.tasks.set("tsk_gone", { taskId: "tsk_gone", id: 99, title: "Of another board", status: "todo", priority: "medium" });
    }""")
    wire.cut(4409)
    assert "cursor=" not in opened_again(page, wire)
    page.wait_for_function("async () => !(await import('/assets/store.js')).store.tasks.has('tsk_gone')")
    assert known(page, "store.tasks.size") > 0


def test_who_is_no_longer_let_in_is_told_how_to_come_back_and_does_not_knock_again(wired: tuple[Page, Wire]) -> None:
    page, wire = wired
    wire.cut(4401)
    expect(page.locator(".bar")).to_contain_text("This page is no longer signed in: run `kumi open`.")
    expect(page.locator(".bar button")).to_be_hidden()
    assert len(wire.opened) == 1
