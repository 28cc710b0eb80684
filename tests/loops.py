"""Tests of what runs on either event loop: `kumi up` has uvloop's, a program that uses the hub has Python's own.

A folder of tests has both where its `conftest.py` takes `pytest_generate_tests` and `either_loop` from here: each test whose
module runs something on a loop, by a `run` of its kit, is made twice.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
import uvloop

_FACTORIES = {"asyncio": None, "uvloop": uvloop.new_event_loop}
# The name of the one that the running test has.
_chosen = ["asyncio"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if hasattr(metafunc.module, "run"):
        metafunc.parametrize("either_loop", list(_FACTORIES), indirect=True)


@functools.cache
def _open_what_stays() -> None:
    """The first loop of uvloop's opens a pipe for signals that the process then keeps: who counts descriptors would find it."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.sleep(0))


@pytest.fixture(autouse=True)
def either_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    _open_what_stays()
    _chosen.append(getattr(request, "param", "asyncio"))
    yield
    _chosen.pop()


def run_within(seconds: float, test: Coroutine[Any, Any, None]) -> None:
    """Run it on the loop of the running test, and not for ever."""

    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await test

    with asyncio.Runner(loop_factory=_FACTORIES[_chosen[-1]]) as runner:
        runner.run(bounded())
