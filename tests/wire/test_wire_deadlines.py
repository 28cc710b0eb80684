"""Many deadlines by one timer: each is told once, none early, and what was taken back never."""

from __future__ import annotations

import asyncio

from kumihimo.wire.deadlines import GRAIN, Deadlines


def test_what_is_due_is_told_once_and_in_order_and_what_was_taken_back_is_not() -> None:
    async def due() -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        told: list[tuple[str, float]] = []
        over = asyncio.Event()
        deadlines = Deadlines()

        def tell(name: str) -> None:
            told.append((name, loop.time() - began))
            if len(told) == 3:
                over.set()

        wishes = {"late": 6 * GRAIN, "early": GRAIN, "never": 3 * GRAIN, "between": 3 * GRAIN}
        calls = {name: (lambda name=name: tell(name)) for name in wishes}
        ticks = {name: deadlines.add(seconds, calls[name]) for name, seconds in wishes.items()}
        deadlines.remove(ticks["never"], calls["never"])
        # What is not there can be taken back as well: it may have been told just before.
        deadlines.remove(ticks["never"], calls["never"])
        async with asyncio.timeout(30):
            await over.wait()
        assert [name for name, _ in told] == ["early", "between", "late"]
        assert all(at >= wishes[name] for name, at in told)

    asyncio.run(due())


def test_one_that_is_told_may_add_another_and_nothing_is_told_after_the_end() -> None:
    async def again() -> None:
        deadlines = Deadlines()
        over = asyncio.Event()
        told: list[str] = []
        deadlines.add(GRAIN, lambda: deadlines.add(GRAIN, over.set))
        deadlines.add(4 * GRAIN, lambda: told.append("kept"))
        async with asyncio.timeout(30):
            await over.wait()
            deadlines.close()
            # Another one whose time comes after that of what was to be told.
            later, much_later = Deadlines(), asyncio.Event()
            later.add(5 * GRAIN, much_later.set)
            await much_later.wait()
        assert told == []

    asyncio.run(again())
