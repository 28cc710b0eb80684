"""A home whose host process is up, on either database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kumihimo.services.hosting import Running
from tests.lead.shop import Lead, Shop, until
from tests.live.watcher import Watcher


class Home:
    """A shop that is up, its lead, and who watches it."""

    def __init__(self, folder: Path, database: str) -> None:
        self.shop = Shop(folder, database)
        self.lead: Lead = self.shop.lead()
        self.bring_up()

    def bring_up(self) -> Running:
        self.shop.kumi_plain("up", "--detach")
        return self.running

    @property
    def running(self) -> Running:
        return until(lambda: self.shop.host)

    def watch(self, cursor: str | None = None, **headers: str) -> Watcher:
        return Watcher(self.running, self.shop.home, cursor, **headers)


@pytest.fixture
def home(database: str, tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path, database)
    yield made
    made.shop.close()
