"""Where a caller sits at the hub: over HTTP in the only project that there is, wherever the server was started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kumihimo.app import now
from kumihimo.domain.errors import ProjectUnclear
from kumihimo.domain.identifiers import Identifiers
from kumihimo.operations.operation import Call, Caller
from kumihimo.operations.servers import AddServer, add
from kumihimo.services.board import Board
from kumihimo.services.projects import Place
from kumihimo.settings import Flags, load
from kumihimo.store.store import open_store
from kumihimo.surfaces.hubs.seats import Seat, seat_of


def test_over_http_the_hub_is_that_of_the_only_project_and_of_several_one_is_named(tmp_path: Path) -> None:
    elsewhere, shop, bakery = tmp_path / "elsewhere", tmp_path / "shop", tmp_path / "bakery"
    for folder in (elsewhere, shop, bakery):
        folder.mkdir()
    board = Board(open_store(str(tmp_path / "kumi.db")), now, Identifiers(os.urandom))
    settings = load(Flags(), {"KUMI_HOME": str(tmp_path)}, elsewhere)

    def sits(place: Place) -> Seat:
        return seat_of(settings, board, Caller("owner", place))

    assert sits(Place()).folder == elsewhere
    first = board.projects.add("shop", str(shop))
    assert (sits(Place()).folder, sits(Place()).project_id) == (shop, first.id)
    # Who stands somewhere has what is there.
    assert sits(Place(None, str(elsewhere))).folder == elsewhere
    board.projects.add("bakery", str(bakery))
    with pytest.raises(ProjectUnclear):
        sits(Place())
    assert sits(Place("bakery")).folder == bakery


def test_whoever_stands_in_a_project_has_its_hub_and_a_worktree_of_their_own_where_they_stand_in_one(
    tmp_path: Path,
) -> None:
    shop = tmp_path / "shop"
    inside, vendored, tree = shop / "docs" / "pictures", shop / "vendored", shop / "trees" / "one"
    for folder in (inside, vendored, tree / "src"):
        folder.mkdir(parents=True)
    (vendored / ".git").mkdir()
    (vendored / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / ".git").write_text("gitdir: elsewhere\n")
    board = Board(open_store(str(tmp_path / "kumi.db")), now, Identifiers(os.urandom))
    board.projects.add("shop", str(shop))
    board.projects.add("bakery", str(tmp_path / "bakery"))
    settings = load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path)

    def sits(folder: Path) -> tuple[Path, Path | None]:
        seat = seat_of(settings, board, Caller("owner", Place(None, str(folder))))
        return seat.folder, seat.worktree

    assert sits(shop) == (shop, None)
    assert sits(inside) == (shop, None)
    assert sits(vendored) == (shop, vendored)
    assert sits(tree / "src") == (shop, tree)
    entry = add(
        Call(settings, Caller("owner", Place(None, str(vendored))), lambda: board), AddServer(name="a", command=["x"])
    )
    assert entry.file == str(shop / "mcp.config.yaml")


def test_over_http_a_server_is_added_to_the_only_project_and_not_to_where_the_host_was_started(tmp_path: Path) -> None:
    elsewhere, shop = tmp_path / "elsewhere", tmp_path / "shop"
    for folder in (elsewhere, shop):
        folder.mkdir()
    board = Board(open_store(str(tmp_path / "kumi.db")), now, Identifiers(os.urandom))
    board.projects.add("shop", str(shop))
    settings = load(Flags(), {"KUMI_HOME": str(tmp_path)}, elsewhere)
    entry = add(Call(settings, Caller("owner", Place()), lambda: board), AddServer(name="a", command=["x"]))
    assert entry.file == str(shop / "mcp.config.yaml")
