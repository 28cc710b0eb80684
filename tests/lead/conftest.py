"""A shop for a whole file of tests, each with groups of its own; and one for a test that breaks something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lead.shop import Lead, Shop

OpenShop = Callable[..., Shop]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    made = Shop(tmp_path_factory.mktemp("lead"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def lead(shop: Shop) -> Lead:
    return shop.lead()


@pytest.fixture
def open_shop(tmp_path: Path) -> Iterator[OpenShop]:
    """`open_shop(max_concurrent=2)`: a home of its own, with these settings."""
    made: list[Shop] = []

    def opened(**settings: Any) -> Shop:
        made.append(Shop(tmp_path, **settings))
        return made[-1]

    yield opened
    for one in made:
        one.close()
