"""The pictures of the documentation, taken where they are asked for: `KUMI_PICTURES=1 make test-browser`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import story
from tests.browser.palette import shrink
from tests.browser.studio import Studio, new_context, visit

PICTURES = Path(__file__).parents[2] / "docs/pictures"
MOST_BYTES = 150_000
# A story takes seconds; a day of work is told in minutes. Only the page is told so.
AS_IF = """async ([minutes]) => {
  const { store } = await import("/assets/store.js");
  const known = [...store.runs.values()].sort((one, other) => (one.queuedAt < other.queuedAt ? -1 : 1));
  const ago = (m) => new Date(Date.now() - m * 60000).toISOString();
  for (const [place, run] of known.entries()) {
    const [from, took] = minutes[place] ?? [3, 2];
    const times = { startedAt: run.startedAt && ago(from), endedAt: run.endedAt && ago(from - took) };
    const queuedAt = ago(from + 0.01 - place / 10000);
    store.apply({ type: "agent:status_update", data: { ...run, ...times, queuedAt } });
  }
  for (const task of [...store.tasks.values()]) store.apply({ type: "task:updated", data: { ...task, updatedAt: ago(4) } });
  store.set({ handoffs: store.handoffs.map((handoff) => ({ ...handoff, createdAt: ago(11) })) });
}"""
MINUTES = [
    (96, 4.6),
    (91, 2.2),
    (48, 1.3),
    (48, 3.1),
    (31, 5.4),
    (6.2, 3.03),
    (6.2, 2.17),
    (3.1, 0),
    (0, 0),
    (2.4, 0),
    (2.3, 0),
    (2.2, 0),
]

pytestmark = pytest.mark.skipif(
    os.environ.get("KUMI_PICTURES") != "1", reason="pictures are taken with KUMI_PICTURES=1"
)


class Gallery(Studio):
    """With a git identity that is nobody's."""

    @property
    def environment(self) -> dict[str, str]:
        nobody = self.home / "gitconfig"
        nobody.write_text("[user]\n\tname = Aki\n\temail = aki@example.org\n")
        return {**super().environment, "GIT_CONFIG_GLOBAL": str(nobody)}


@pytest.fixture(scope="module")
def gallery() -> Iterator[tuple[Studio, dict[str, Any]]]:
    # A short path that says nothing of the machine that the pictures were taken on.
    folder = Path(tempfile.gettempdir()) / "kumihimo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    made = Gallery(folder, commands={"qwen-code": story.written_worker(folder)})
    try:
        yield made, story.tell(made)
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


def _take(page: Page, name: str) -> None:
    file = PICTURES / f"{name}.png"
    file.parent.mkdir(exist_ok=True)
    page.screenshot(path=str(file), animations="disabled")
    shrink(file)
    assert file.stat().st_size < MOST_BYTES


def _scenes(page: Page, told: dict[str, Any]) -> Iterator[str]:
    for name in ("now", "agents", "history", "hub", "health"):
        visit(page, name)
        yield name
    visit(page, f"run/{told['finished']}")
    expect(page.locator(".diff").first).to_be_visible()
    yield "run"
    visit(page, f"board/{told['worked']}")
    expect(page.locator(".panel .line")).to_be_visible()
    yield "board"
    visit(page, "now")
    page.keyboard.press("n")
    story.type_plan(page)
    yield "start"
    page.keyboard.press("Escape")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_picture_of_every_page_is_taken(
    browser: Browser, gallery: tuple[Studio, dict[str, Any]], scheme: str
) -> None:
    studio, told = gallery
    context = new_context(browser, color_scheme=scheme)
    page = studio.enter(context)
    page.evaluate(AS_IF, [MINUTES])
    for name in _scenes(page, told):
        _take(page, f"{name}-{scheme}")
    context.close()


def test_a_picture_on_a_phone_is_taken(browser: Browser, gallery: tuple[Studio, dict[str, Any]]) -> None:
    studio, told = gallery
    context = new_context(browser, viewport={"width": 390, "height": 844})
    page = studio.enter(context)
    page.evaluate(AS_IF, [MINUTES])
    visit(page, "now")
    _take(page, "phone-now")
    visit(page, f"run/{told['finished']}")
    expect(page.locator(".diff").first).to_be_attached()
    _take(page, "phone-run")
    context.close()
