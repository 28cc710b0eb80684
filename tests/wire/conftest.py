"""Fixtures of the tests of the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop
from serving_kit import BOUND


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Runs a test on either event loop."""
    factory = uvloop.new_event_loop if request.param == "uvloop" else None

    def carry_out(test: Callable[[], Any]) -> None:
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(asyncio.wait_for(test(), 3 * BOUND))

    return carry_out
