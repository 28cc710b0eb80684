from __future__ import annotations

import pytest

from kumihimo.domain.errors import AgentNotFound, InvalidValue, NameTaken
from kumihimo.services.passkeys import NOBODY, hash_of, matches
from kumihimo.testing.boards import BoardKit


def test_a_passkey_is_answered_once_and_stored_only_as_an_argon2id_hash(kit: BoardKit) -> None:
    keyed = kit.board.agents.add("dev", client="codex", role="writes code")
    stored = kit.board.store.read(lambda transaction: transaction.agents.passkey_hash(keyed.agent.id))
    assert stored is not None
    assert stored.startswith("$argon2id$")
    assert matches(stored, keyed.passkey)
    log = "".join(bytes(event.data).decode() for event in kit.board.store.events_after(None))
    assert keyed.passkey not in log
    assert "argon2" not in log


def test_a_new_passkey_makes_the_old_one_worthless(kit: BoardKit) -> None:
    old = kit.board.agents.add("dev")
    new = kit.board.agents.rekey("dev")
    stored = kit.board.store.read(lambda transaction: transaction.agents.passkey_hash(old.agent.id))
    assert new.passkey != old.passkey
    assert matches(stored, new.passkey)
    assert not matches(stored, old.passkey)


def test_the_hash_of_nobody_costs_what_a_real_one_costs() -> None:
    assert NOBODY.split("$")[:4] == hash_of("x").split("$")[:4]
    assert not matches(None, "anything")
    assert not matches(NOBODY, "anything")


def test_an_update_changes_what_is_given_and_nothing_else(kit: BoardKit) -> None:
    made = kit.board.agents.add("dev", client="codex", role="writes code", dod=["make test"], write=["src/**"]).agent
    changed = kit.board.agents.update("dev", role="reads code", exclude=["secrets/**"])
    assert (changed.role, changed.client, changed.dod) == ("reads code", "codex", ("make test",))
    assert (changed.scope.write, changed.scope.exclude) == (("src/**",), ("secrets/**",))
    before = kit.board.store.newest_cursor()
    assert kit.board.agents.update(made.id, role="reads code") == changed
    assert kit.board.store.newest_cursor() == before


def test_an_agent_can_be_put_away_and_brought_back(kit: BoardKit) -> None:
    kit.board.agents.add("dev")
    seen = [
        kit.board.agents.update("dev", status=status).status for status in ("inactive", "active", "archived", "active")
    ]
    assert seen == ["inactive", "active", "archived", "active"]
    assert kit.board.agents.archive("dev").status == "archived"


def test_a_taken_name_an_unknown_client_and_an_unknown_agent_are_refused(kit: BoardKit) -> None:
    kit.board.agents.add("reviewer")
    with pytest.raises(NameTaken):
        kit.board.agents.add("reviewer")
    with pytest.raises(InvalidValue, match="codex"):
        kit.board.agents.add("other", client="codexx")
    with pytest.raises(AgentNotFound, match="Did you mean 'reviewer'"):
        kit.board.agents.show("reviewr")


def test_agents_are_listed_by_name_page_by_page(kit: BoardKit) -> None:
    for name in ("b", "d", "a", "c", "e"):
        kit.board.agents.add(name)
    seen: list[str] = []
    cursor = None
    while True:
        page = kit.board.agents.list(limit=2, cursor=cursor)
        seen += [agent.name for agent in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == ["a", "b", "c", "d", "e"]
