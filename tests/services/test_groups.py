from __future__ import annotations

import re

import pytest

from kumihimo.domain.errors import GroupHasRunningAgents, GroupNotFound
from kumihimo.services.wish import Wish
from tests.services.conftest import Shop


def test_a_group_is_known_by_its_second_and_four_digits_and_never_twice(shop: Shop) -> None:
    groups = [shop.kit.board.groups.create(f"g{n}") for n in range(50)]
    assert all(re.fullmatch(r"grp-\d{10}-[0-9a-f]{4}", group.id) for group in groups)
    assert len({group.id for group in groups}) == 50


def test_a_group_with_something_running_is_not_deleted(shop: Shop) -> None:
    board = shop.kit.board
    group = board.groups.create("both", mode="sequential")
    board.executions.enqueue(Wish(shop.coder, "group", group_id=group.id))
    with pytest.raises(GroupHasRunningAgents, match="1 running"):
        board.groups.delete(group.id)
    run = board.executions.claim("host-a")
    assert run is not None
    board.executions.fail(run.id, run.fence, "spawn_failed")
    assert board.groups.delete(group.id).status == "deleted"
    for reference in (group.id, "grp-0-0000", "", "\0"):
        with pytest.raises(GroupNotFound):
            board.groups.delete(reference)
    assert [listed.id for listed in board.groups.list()] == [group.id], "deleted groups still list"
