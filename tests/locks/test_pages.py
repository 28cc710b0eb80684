"""What the page is served with."""

from __future__ import annotations

import gzip
import http.client

import pytest

from tests.locks.browser import Browser
from tests.mcp.http_door import HttpDoor


def test_nothing_from_elsewhere_and_nothing_inline_may_run_in_the_page(browser: Browser) -> None:
    headers = browser.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    page = browser.get("/").body
    assert "<script>" not in page
    assert "style=" not in page


@pytest.mark.parametrize(
    "path", ["/assets/../pages.py", "/assets/%2e%2e/__init__.py", "/assets//etc/passwd", "/assets/", "/assets/none.js"]
)
def test_only_files_of_the_page_are_served(browser: Browser, path: str) -> None:
    assert browser.get(path).status == 404


def test_files_are_packed_for_who_can_unpack_them_and_not_sent_twice(browser: Browser, door: HttpDoor) -> None:
    plain = browser.get("/")
    connection = http.client.HTTPConnection("127.0.0.1", door.running.port, timeout=30)
    assert browser.cookie is not None
    connection.request("GET", "/", headers={"cookie": browser.cookie, "accept-encoding": "gzip"})
    packed = connection.getresponse()
    assert gzip.decompress(packed.read()).decode() == plain.body
    connection.close()
    assert browser.get("/", **{"if-none-match": plain.headers["etag"]}).status == 304
