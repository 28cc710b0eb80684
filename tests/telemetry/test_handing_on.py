"""What servers behind the hub are handed beside the arguments stays with a caller, however it calls."""

from __future__ import annotations

from kumihimo.hub.call import Asking
from kumihimo.hub.desk import Desk
from kumihimo.hub.hub import Hub


def test_who_can_be_asked_hands_its_trace_on_as_well() -> None:
    def on_progress(done: float, total: float | None, message: str | None) -> None:
        """Nobody looks."""

    desk = Desk(Hub(), asking=Asking(meta={"traceparent": "00-1-2-01"}))
    assert desk.new_call("a:b", {}).asking.meta == {"traceparent": "00-1-2-01"}
    asked = desk.asking(Asking(on_progress=on_progress)).new_call("a:b", {}).asking
    assert (asked.on_progress, asked.meta) == (on_progress, {"traceparent": "00-1-2-01"})
    assert Desk(Hub()).asking(Asking(on_progress=on_progress)).new_call("a:b", {}).asking.meta is None
