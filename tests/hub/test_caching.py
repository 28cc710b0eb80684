"""What is answered without asking, for how long, and what makes it old."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kumihimo import Hub
from kumihimo.hub.caching import MOST_ENTRIES, Cache
from kumihimo.hub.configuration_file import from_value
from kumihimo.hub.results import Answer
from tests.hub.hub_kit import IDEMPOTENT, READ, Scripted, StillTiming, run


def told(answer: Answer) -> tuple[str, bool]:
    return answer.data[0]["text"], answer.metadata.cached


def look(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "does": "count", **more}


def test_the_same_read_of_a_server_that_is_configured_for_it_is_answered_for_a_minute(tmp_path: Path) -> None:
    timing = StillTiming()
    alpha = Scripted(tmp_path, "alpha", look("look", **READ), config={"cache": True})

    async def reads() -> None:
        async with Hub(servers=[alpha.config], timing=timing) as hub:
            expected = [(0.0, "1", False), (30.0, "1", True), (29.9, "1", True), (0.1, "2", False), (59.0, "2", True)]
            for later, text, cached in expected:
                timing.at += later
                assert told(await hub.execute_tool("alpha:look", {"a": 1, "b": 2})) == (text, cached)
            assert told(await hub.execute_tool("alpha:look", {"b": 2, "a": 1})) == ("2", True)
            assert told(await hub.execute_tool("alpha:look", {"a": 2})) == ("3", False)
            assert told(await hub.execute_tool("alpha:look", {"a": 2}, caller="another")) == ("4", False)

    run(reads())


def test_a_read_of_any_other_server_is_asked_each_time(tmp_path: Path) -> None:
    alpha = Scripted(tmp_path, "alpha", look("look", **READ))

    async def reads() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            assert [told(await hub.execute_tool("alpha:look")) for _ in range(2)] == [("1", False), ("2", False)]

    run(reads())


@pytest.mark.parametrize("hints", [{}, IDEMPOTENT, {"annotations": {"readOnlyHint": "true"}}])
def test_what_may_write_is_never_answered_from_the_cache_and_clears_what_was_read(
    tmp_path: Path, hints: dict[str, Any]
) -> None:
    more = {"more": {"ttlMs": 100000}}
    alpha = Scripted(tmp_path, "alpha", look("look", **READ), look("write", **hints, **more), config={"cache": True})
    beta = Scripted(tmp_path, "beta", look("look", **READ), config={"cache": True})

    async def writes() -> None:
        async with Hub(servers=[alpha.config, beta.config]) as hub:
            for server in ("alpha", "beta"):
                assert told(await hub.execute_tool(f"{server}:look")) == ("1", False)
            assert [told(await hub.execute_tool("alpha:write")) for _ in range(2)] == [("1", False), ("2", False)]
            assert told(await hub.execute_tool("alpha:look")) == ("2", False)
            assert told(await hub.execute_tool("beta:look")) == ("1", True)

    run(writes())


def test_an_answer_with_a_time_on_it_is_kept_for_that_time(tmp_path: Path) -> None:
    timing = StillTiming()
    mine = look("mine", **READ, more={"ttlMs": 5000})
    ours = look("ours", **READ, more={"ttlMs": 5000, "cacheScope": "public"})
    fleeting = look("fleeting", **READ, more={"ttlMs": 0})
    alpha = Scripted(tmp_path, "alpha", mine, ours, fleeting, config={"cache": True})

    async def reads() -> None:
        async with Hub(servers=[alpha.config], timing=timing) as hub:

            async def as_caller(tool: str, caller: str | None) -> tuple[str, bool]:
                return told(await hub.execute_tool(f"alpha:{tool}", caller=caller))

            assert [await as_caller("mine", who) for who in ("a", "a", "b", None, "a")] == [
                ("1", False), ("1", True), ("2", False), ("3", False), ("1", True),
            ]  # fmt: skip
            assert [await as_caller("ours", who) for who in ("a", "b", None)] == [
                ("1", False),
                ("1", True),
                ("1", True),
            ]
            assert [await as_caller("fleeting", "a") for _ in range(2)] == [("1", False), ("2", False)]
            timing.at += 5.0
            assert await as_caller("mine", "a") == ("4", False)

    run(reads())


@pytest.mark.parametrize(
    "more", [{"ttlMs": "soon"}, {"ttlMs": True}, {"ttlMs": -1}, {"ttlMs": None}, {"cacheScope": 5}]
)
def test_a_time_that_is_none_keeps_nothing_and_refuses_nothing(tmp_path: Path, more: dict[str, Any]) -> None:
    alpha = Scripted(tmp_path, "alpha", look("look", **READ, more=more))

    async def reads() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            assert [told(await hub.execute_tool("alpha:look")) for _ in range(2)] == [("1", False), ("2", False)]

    run(reads())


@pytest.mark.parametrize("more", [{"ttlMs": "soon"}, {"ttlMs": True}, {"ttlMs": None}, {"cacheScope": None}])
def test_a_resource_with_a_time_that_is_none_is_read_all_the_same(tmp_path: Path, more: dict[str, Any]) -> None:
    alpha = Scripted(tmp_path, "alpha", reading=more)

    async def reads() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            read = [await hub.read_resource("note://one", "alpha") for _ in range(2)]
            assert [contents[0]["text"] for contents in read] == ["read 1", "read 2"]

    run(reads())


def test_a_resource_is_kept_only_where_its_server_puts_a_time_on_it(tmp_path: Path) -> None:
    resources = [{"uri": "note://one", "name": "one"}]
    kept = Scripted(tmp_path, "kept", resources=resources, reading={"ttlMs": 1000})
    plain = Scripted(tmp_path, "plain", resources=resources, config={"cache": True})

    async def reads() -> None:
        async with Hub(servers=[kept.config, plain.config], timing=StillTiming()) as hub:
            for _ in range(2):
                assert (await hub.read_resource("note://one", "kept"))[0]["text"] == "read 1"
            assert [(await hub.read_resource("note://one", "plain"))[0]["text"] for _ in range(2)] == [
                "read 1",
                "read 2",
            ]

    run(reads())


def test_a_changed_list_clears_what_was_read_from_its_server(tmp_path: Path) -> None:
    change = {"name": "change", "does": "change", **READ}
    alpha = Scripted(tmp_path, "alpha", look("look", **READ), change, config={"cache": True})

    async def reads() -> None:
        async with Hub(servers=[alpha.config]) as hub:
            assert told(await hub.execute_tool("alpha:look")) == ("1", False)
            assert (await hub.execute_tool("alpha:change", {"name": "new"})).success
            assert told(await hub.execute_tool("alpha:look")) == ("2", False)

    run(reads())


@pytest.mark.parametrize("how", ["removed", "configured anew"])
def test_nothing_is_kept_of_a_server_that_was_taken_out(tmp_path: Path, how: str) -> None:
    (tmp_path / "new").mkdir()
    old = Scripted(tmp_path, "alpha", look("look", **READ), config={"cache": True})
    new = Scripted(tmp_path / "new", "alpha", look("look", **READ))

    async def reads() -> None:
        async with Hub(servers=[old.config]) as hub:
            assert [told(await hub.execute_tool("alpha:look")) for _ in range(2)] == [("1", False), ("1", True)]
            if how == "removed":
                await hub.remove_server("alpha")
                await hub.register_server(new.config)
            else:
                await hub.reconfigure(from_value({"servers": [new.config]}, {}, tmp_path, str))
            assert told(await hub.execute_tool("alpha:look")) == ("1", False)
            assert new.calls("look") == 1

    run(reads())


def test_a_read_that_overlaps_with_a_write_is_not_kept() -> None:
    cache = Cache(lambda: 0.0)
    age = cache.age("alpha")
    cache.clear("alpha")
    cache.put("alpha", "key", "old", 60.0, age)
    assert cache.get("key") is None


def test_of_more_than_a_thousand_entries_the_least_used_go() -> None:
    cache = Cache(lambda: 0.0)
    for number in range(MOST_ENTRIES):
        cache.put("alpha", number, str(number), 60.0, 0)
    assert cache.get(0) == "0"
    cache.put("beta", "new", "new", 60.0, 0)
    assert (len(cache), cache.get(0), cache.get(1), cache.get("new")) == (1000, "0", None, "new")
    cache.clear("alpha")
    assert (len(cache), cache.get("new")) == (1, "new")
