"""Who owns one of the homes of a board owns the board: at every door of it, with a token or with the page's cookie."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kumihimo.services.sessions import hash_of
from kumihimo.services.tokens import HEARD_OF
from kumihimo.surfaces.http.codes import Codes
from kumihimo.testing.boards import BoardKit
from tests.doors.house import Entrance
from tests.supervisor.patience import until

STATUS = "board/status"


def signed_in(door: Entrance) -> str:
    """The cookie of a browser that came by a link of this home."""
    answer = door.ask("GET", f"/login?code={Codes(door.home.place).make()}")
    assert answer.status == 200
    return answer.headers["set-cookie"].partition(";")[0]


def status_with(door: Entrance, cookie: str, **headers: str) -> int:
    return door.ask("POST", f"/api/v1/{STATUS}", None, {}, cookie=cookie, **{"origin": door.origin, **headers}).status


def test_the_token_of_any_home_opens_every_door_of_its_board(doors: list[Entrance]) -> None:
    one, two = doors
    assert one.token != two.token
    for door, token in ((one, one.token), (one, two.token), (two, one.token), (two, two.token)):
        assert door.api(STATUS, token).status == 200
        assert door.ask("GET", "/", token).status == 200
    for wrong in ("x" * 43, one.token[:-1], hash_of(one.token)):
        assert two.api(STATUS, wrong).status == 401


def test_a_token_that_was_replaced_opens_no_other_door_any_more(doors: list[Entrance]) -> None:
    one, two = doors
    before, cookie = one.token, signed_in(one)
    assert status_with(two, cookie) == 200
    (one.home.place / "token").unlink()
    one.restart()
    assert one.token != before
    until(lambda: two.api(STATUS, one.token).status == 200, "the new token")
    assert two.api(STATUS, before).status == 401
    assert status_with(two, cookie) == 401
    assert status_with(one, cookie) == 401


def test_the_cookie_of_the_page_is_good_at_every_door_and_for_that_door_alone(doors: list[Entrance]) -> None:
    one, two = doors
    cookie = signed_in(one)
    for door in doors:
        assert status_with(door, cookie) == 200
        assert door.ask("GET", "/", cookie=cookie).status == 200
    assert status_with(two, cookie, origin=one.origin) == 403
    name, _, value = cookie.partition("=")
    expires, nonce, host, shared, own = value.split(".")
    forged = {
        "a later end": f"{int(expires) + 9}.{nonce}.{host}.{shared}.{own}",
        "another home": f"{expires}.{nonce}.{two.host_id}.{shared}.{own}",
        "a home that is not there": f"{expires}.{nonce}.host_000000000000.{shared}.{own}",
        "another signature": f"{expires}.{nonce}.{host}.{shared[:-2]}xx.{own}",
        "one of its own in place of the board's": f"{expires}.{nonce}.{host}.{own}.{own}",
    }
    for what, wrong in forged.items():
        assert status_with(two, f"{name}={wrong}") == 401, what
        assert status_with(one, f"{name}={wrong}") == 401, what


def test_who_signs_out_at_another_door_is_out_there_as_well(doors: list[Entrance]) -> None:
    one, two = doors
    cookie = signed_in(one)
    out = two.ask("POST", "/logout", None, {}, cookie=cookie, origin=two.origin)
    assert out.status == 200
    assert f"{cookie.partition('=')[0]}=; Max-Age=0" in out.headers["set-cookie"]


def test_a_link_of_another_home_is_refused_and_says_which_door_it_is_for(doors: list[Entrance]) -> None:
    one, two = doors
    code = Codes(one.home.place).make()
    refused = two.ask("GET", f"/login?code={code}")
    assert refused.status == 403
    assert "another host" in refused.body.decode()
    assert "kumi open" in refused.body.decode()
    # It was not used up by that.
    assert one.ask("GET", f"/login?code={code}").status == 200


@pytest.mark.parametrize("gone", [timedelta(seconds=31), HEARD_OF + timedelta(seconds=31)], ids=["a while", "long"])
def test_the_token_of_a_home_that_nobody_has_heard_of_for_a_day_opens_nothing(kit: BoardKit, gone: timedelta) -> None:
    tokens = kit.board.tokens
    kit.board.hosts.renew("host_a", "a", 1, token_hash=hash_of("the token"))
    kit.clock.advance(seconds=gone.total_seconds())
    heard_of = gone < HEARD_OF
    assert (tokens.owners_home("the token") is not None) is heard_of
    assert (tokens.home("host_a") is not None) is heard_of
    assert tokens.owners_home("another") is None
    assert tokens.home("host_b") is None
