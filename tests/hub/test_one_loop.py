"""A hub belongs to the event loop that it was first used on."""

from __future__ import annotations

import asyncio
import gc
import warnings
from pathlib import Path

import pytest

from kumihimo import Hub, HubClosed
from tests.hub.hub_kit import Scripted, alive


def test_a_hub_lives_on_one_event_loop_and_can_be_closed_on_another(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", {"name": "add"})
    hub = Hub(servers=[alpha.config])

    async def call() -> bool:
        return (await hub.execute_tool("alpha:add")).success

    assert asyncio.run(call())
    with pytest.raises(HubClosed, match="another event loop"):
        asyncio.run(call())
    (server,) = alpha.pids
    assert alive(server)
    with warnings.catch_warnings():
        # What the loop held that is over is found only now.
        warnings.simplefilter("ignore", ResourceWarning)
        asyncio.run(hub.close())
        # Nobody else holds it.
        vars(hub).clear()
        gc.collect()
    assert not alive(server)
