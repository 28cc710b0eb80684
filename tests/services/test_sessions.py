from __future__ import annotations

import pytest
from msgspec.structs import replace

from kumihimo.domain.errors import AgentBusy, LoginRefused, SessionNotFound, TokenRefused
from kumihimo.engine.processes.identity import current
from kumihimo.services.agents import KeyedAgent
from kumihimo.services.passkeys import matches
from kumihimo.services.sessions import Login, hash_of
from tests.services.conftest import Shop

DEAD = replace(current(), boot_id="a boot before this one")


@pytest.fixture
def dev(shop: Shop) -> KeyedAgent:
    keyed = shop.kit.board.agents.add("dev")
    shop.kit.board.projects.assign("shop", keyed.agent)
    return keyed


def login(shop: Shop, dev: KeyedAgent) -> Login:
    return shop.kit.board.sessions.authenticate(dev.agent.id, dev.passkey, shop.project.id)


def test_the_right_passkey_opens_a_session_whose_token_is_stored_only_as_a_hash(shop: Shop, dev: KeyedAgent) -> None:
    made = login(shop, dev)
    assert made.token.startswith("sess_")
    assert (made.agent, made.session.status) == (dev.agent, "live")
    store = shop.kit.board.store
    kept = store.read(lambda transaction: transaction.sessions.with_token(hash_of(made.token)))
    assert kept is not None
    everything = str(kept) + "".join(bytes(event.data).decode() for event in store.events_after(None, 10_000))
    assert made.token not in everything
    assert dev.passkey not in everything


def test_one_refusal_for_everything_that_may_be_wrong(
    shop: Shop, dev: KeyedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = shop.kit.board
    other = board.projects.init("/srv/other", git=False).project
    person = board.agents.add("ann", type="human")
    board.projects.assign("shop", person.agent)
    checked: list[str | None] = []
    monkeypatch.setattr(
        "kumihimo.services.passkeys.matches",
        lambda stored, passkey: (checked.append(stored), matches(stored, passkey))[1],
    )
    wrong = [
        (dev.agent.id, "wrong", shop.project.id),
        ("agt_nobody", dev.passkey, shop.project.id),
        (dev.agent.id, dev.passkey, "prj_nothing"),
        (dev.agent.id, dev.passkey, other.id),
        (shop.coder.id, dev.passkey, shop.project.id),
        (person.agent.id, person.passkey, shop.project.id),
        ("\0", "\0", "\0"),
        (dev.agent.id, dev.passkey, "\0"),
    ]
    for attempt in wrong:
        with pytest.raises(LoginRefused, match=r"^Invalid agent_id or passkey$"):
            board.sessions.authenticate(*attempt)
    assert len(checked) == len(wrong), "a passkey is checked every time, so that every refusal takes as long"


def test_an_archived_agent_or_project_can_not_be_logged_in_to(shop: Shop, dev: KeyedAgent) -> None:
    board = shop.kit.board
    board.agents.archive("dev")
    with pytest.raises(LoginRefused):
        login(shop, dev)
    board.agents.update("dev", status="active")
    board.projects.move("shop", "archive")
    with pytest.raises(LoginRefused):
        login(shop, dev)


def test_a_second_login_is_refused_while_the_first_lives_and_other_projects_are_their_own(
    shop: Shop, dev: KeyedAgent
) -> None:
    board = shop.kit.board
    other = board.projects.add("other", "/srv/other")
    board.projects.assign("other", dev.agent)
    first = login(shop, dev)
    with pytest.raises(AgentBusy, match=r"^Agent instance already running for this project$"):
        login(shop, dev)
    assert board.sessions.authenticate(dev.agent.id, dev.passkey, other.id).token != first.token
    board.sessions.logout(first.token)
    assert login(shop, dev).session.id != first.session.id


def test_a_session_slides_with_use_and_is_over_an_hour_after_the_last(shop: Shop, dev: KeyedAgent) -> None:
    sessions, clock = shop.kit.board.sessions, shop.kit.clock
    made = login(shop, dev)
    for _ in range(3):
        clock.advance(seconds=3599)
        assert sessions.use(made.token).status == "live"
    clock.advance(seconds=3600)
    for _ in range(2):
        with pytest.raises(TokenRefused, match=r"^Invalid or expired session_token$"):
            sessions.use(made.token)
    assert sessions.live(dev.agent.id, shop.project.id) is None
    last = bytes(shop.kit.board.store.events_after(None, 10_000)[-1].data).decode()
    assert '"end_reason":"expired"' in last
    assert login(shop, dev).session.status == "live"


def test_an_expired_session_makes_room_for_the_next_login_without_being_used_first(shop: Shop, dev: KeyedAgent) -> None:
    first = login(shop, dev)
    shop.kit.clock.advance(hours=1)
    assert login(shop, dev).session.id != first.session.id
    with pytest.raises(TokenRefused):
        shop.kit.board.sessions.use(first.token)


def test_a_session_ends_with_its_process_when_that_is_proven_dead_and_not_before(shop: Shop, dev: KeyedAgent) -> None:
    sessions = shop.kit.board.sessions
    alive = sessions.open(dev.agent.id, shop.project.id, current())
    assert sessions.sweep() == []
    with pytest.raises(AgentBusy):
        sessions.open(dev.agent.id, shop.project.id, current())
    sessions.end(alive.session.id, "closed")
    dead = sessions.open(dev.agent.id, shop.project.id, DEAD)
    (ended,) = sessions.sweep()
    assert (ended.id, ended.end_reason) == (dead.session.id, "process_died")
    sessions.open(dev.agent.id, shop.project.id, DEAD)
    assert sessions.open(dev.agent.id, shop.project.id, current()).session.status == "live"


def test_ending_twice_keeps_the_first_end(shop: Shop, dev: KeyedAgent) -> None:
    sessions = shop.kit.board.sessions
    made = login(shop, dev)
    first = sessions.end(made.session.id, "completed", "all done")
    assert sessions.end(made.session.id, "logout") == first
    with pytest.raises(TokenRefused):
        sessions.logout(made.token)
    with pytest.raises(SessionNotFound):
        sessions.end("ssn_nothing", "logout")


@pytest.mark.parametrize("token", ["", "sess_nonsense", "\0", "\ud800", "x" * 100_000])
def test_a_made_up_token_is_refused(shop: Shop, token: str) -> None:
    with pytest.raises(TokenRefused):
        shop.kit.board.sessions.use(token)
