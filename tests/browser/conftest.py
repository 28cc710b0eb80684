"""The tests in a browser are collected, and what they need is imported, only where they are asked for."""

from __future__ import annotations

import os

import pytest

if os.environ.get("KUMI_TEST_BROWSER") == "1":
    from tests.browser.fixtures import browser, open_studio, page, studio  # noqa: F401
else:
    collect_ignore_glob = ["test_page.py", "test_*_view.py", "test_pictures.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: drives a real Chromium; only with KUMI_TEST_BROWSER=1")
