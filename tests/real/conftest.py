"""The tests with the real CLIs are collected, and what they need is imported, only where they are asked for."""

from __future__ import annotations

import os

import pytest

if os.environ.get("KUMI_TEST_REAL") == "1":
    from tests.real.fixtures import board, cli, model, settings, workshop  # noqa: F401
else:
    collect_ignore_glob = ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "real: runs a real agent CLI; only with KUMI_TEST_REAL=1")
