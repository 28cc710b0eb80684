"""The parts list: what a process of Kumihimo is made of. No logic."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from kumihimo.domain.identifiers import Identifiers
from kumihimo.services.board import Board
from kumihimo.settings import Settings
from kumihimo.store.store import open_store


def now() -> datetime:
    return datetime.now(UTC)


def identifiers() -> Identifiers:
    return Identifiers(os.urandom)


def open_board(settings: Settings) -> Board:
    store = open_store(settings.database)
    return Board(store, store.connection.now, identifiers(), settings)
