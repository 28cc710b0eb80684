"""A shop whose host serves the dashboard, and the way in."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.lead.shop import Lead, Shop, until

BOUND_MS = 30_000
VIEWS = ("now", "board", "agents", "history", "hub", "health")


class Studio(Shop):
    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(folder, **{"max_concurrent": 20, **settings})
        self.up()
        self._lead: Lead | None = None

    @property
    def asking(self) -> Lead:
        """One lead for the whole studio."""
        if self._lead is None:
            self._lead = self.lead()
        return self._lead

    def up(self) -> None:
        self.kumi_plain("up", "--detach")
        until(lambda: self.host)
        until(self._answers)

    def _answers(self) -> bool:
        assert self.host is not None
        try:
            with urllib.request.urlopen(f"{self.host.url}/healthz", timeout=5) as answer:
                return answer.status == 200
        except urllib.error.URLError:
            return False

    def link(self) -> str:
        return self.kumi("open")["url"]

    def api(self, operation: str, **facts: Any) -> Any:
        """What the HTTP API answers to the owner."""
        host = self.host
        assert host is not None
        headers = {
            "content-type": "application/json",
            "authorization": f"Bearer {(self.home / 'token').read_text().strip()}",
        }
        request = urllib.request.Request(
            f"{host.url}/api/v1/{operation}?project=shop", json.dumps(facts).encode(), headers
        )
        with urllib.request.urlopen(request, timeout=BOUND_MS / 1000) as answer:
            return json.loads(answer.read())

    def enter(self, context: BrowserContext) -> Page:
        """A page that is signed in and live. What goes wrong in it is kept in `page.complaints`."""
        page = context.new_page()
        page.set_default_timeout(BOUND_MS)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        # A refusal is an answer; Chromium notes it as an error all the same.
        page.on("console", lambda message: complaints.append(message.text) if _is_complaint(message) else None)
        page.complaints = complaints  # type: ignore[attr-defined]
        page.goto(self.link())
        live(page)
        return page


def _is_complaint(message: ConsoleMessage) -> bool:
    return message.type == "error" and not message.text.startswith("Failed to load resource")


def live(page: Page) -> None:
    expect(page.locator(".live[data-connection=live]")).to_be_visible(timeout=BOUND_MS)
    page.wait_for_function("async () => (await import('/assets/store.js')).store.filled")


def new_context(browser: Browser, **settings: Any) -> BrowserContext:
    wanted = {
        "viewport": {"width": 1280, "height": 800},
        "locale": "en-US",
        "color_scheme": "light",
        "reduced_motion": "reduce",
    }
    context = browser.new_context(**{**wanted, **settings})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    return context


def visit(page: Page, place: str) -> None:
    """Open a view and wait until it is there."""
    page.evaluate("place => { location.hash = place }", f"#/{place}")
    expect(page.locator(f"main[data-view={place.split('/')[0].split('?')[0]}]")).to_be_visible()
    expect(page.locator("main[aria-busy]")).to_have_count(0)


def run_row(page: Page, run: str) -> Any:
    return page.locator(f"main a[data-run={run}]")


def known(page: Page, expression: str) -> Any:
    """Something of the store of the page."""
    return page.evaluate(f"async () => {{ const {{ store }} = await import('/assets/store.js'); return {expression} }}")
