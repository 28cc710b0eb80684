"""The fixtures: one Chromium for all, a studio for each file of tests, a signed-in page for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium
from tests.browser.studio import Studio, new_context

OpenStudio = Callable[..., Studio]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = chromium.found()
    if program is None:
        pytest.fail("no Chromium is on PATH: `make test-browser` installs Debian's, or says how")
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=chromium.arguments())
        yield made
        made.close()


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    made = Studio(tmp_path_factory.mktemp("studio"))
    yield made
    made.close()


@pytest.fixture
def open_studio(tmp_path: Path) -> Iterator[OpenStudio]:
    """`open_studio(max_concurrent=2)`: one of its own, for a test that breaks something."""
    made: list[Studio] = []

    def opened(**settings: Any) -> Studio:
        made.append(Studio(tmp_path, **settings))
        return made[-1]

    yield opened
    for one in made:
        one.close()


@pytest.fixture
def page(browser: Browser, studio: Studio) -> Iterator[Page]:
    """A page that is signed in. A test fails where the page complained on its console."""
    context = new_context(browser)
    made = studio.enter(context)
    yield made
    context.close()
    assert made.complaints == []  # type: ignore[attr-defined]
