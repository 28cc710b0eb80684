"""Which addresses are asked, what a challenge says, and what is found out from both."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kumihimo.wire.client.authorization import addresses
from kumihimo.wire.client.authorization.challenge import Challenge, challenge_of
from kumihimo.wire.client.authorization.discovery import find_resource, find_server
from kumihimo.wire.client.authorization.errors import AuthorizationFailed
from kumihimo.wire.client.authorization.fetching import Fetcher
from kumihimo.wire.client.authorization.metadata import Found
from kumihimo.wire.client.authorization.oauth import OAuth
from kumihimo.wire.client.errors import ConnectionFailed
from tests.wire.client.authorization.auth_kit import METADATA, PRM, world
from tests.wire.client.authorization.auth_site import Answer, json_answer
from tests.wire.client.client_kit import run

ROOT_PRM = "/.well-known/oauth-protected-resource"
OPENID = "/.well-known/openid-configuration"


def test_metadata_is_looked_for_by_the_path_first_and_then_for_the_host() -> None:
    host = "https://a.example"
    assert addresses.resource_places(f"{host}/public/mcp") == [f"{host}{ROOT_PRM}/public/mcp", f"{host}{ROOT_PRM}"]
    assert addresses.resource_places(f"{host}/") == [f"{host}{ROOT_PRM}"]
    assert addresses.server_places(host) == [f"{host}{METADATA}", f"{host}{OPENID}"]
    assert addresses.server_places(f"{host}/one/") == [
        f"{host}{METADATA}/one", f"{host}{OPENID}/one", f"{host}/one{OPENID}"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "near", "may"),
    [
        ("https://a.example/x", "https://b.example/mcp", True),
        ("http://a.example/x", "https://b.example/mcp", False),
        ("http://127.0.0.1:1/x", "http://localhost:2/mcp", True),
        ("http://[::1]:1/x", "http://127.0.0.1/mcp", True),
        ("http://127.0.0.1:1/x", "https://b.example/mcp", False),
        ("https://localhost/x", "https://b.example/mcp", False),
        ("http://a.example/x", "http://127.0.0.1/mcp", False),
        ("ftp://a.example/x", "https://b.example/mcp", False),
        ("file:///etc/passwd", "https://b.example/mcp", False),
        ("javascript:alert(1)", "https://b.example/mcp", False),
        ("https://user:word@a.example/", "https://b.example/mcp", False),
        ("https://a.example/x y", "https://b.example/mcp", False),
        ("https://a.example/\r\nHost: c", "https://b.example/mcp", False),
        ("https://a.example:nine/", "https://b.example/mcp", False),
        ("https://", "https://b.example/mcp", False),
    ],
)
def test_only_https_is_asked_and_this_machine_only_for_a_server_on_it(url: str, near: str, may: bool) -> None:
    if may:
        addresses.check(url, near)
        return
    with pytest.raises(AuthorizationFailed):
        addresses.check(url, near)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", Challenge()),
        ("Bearer", Challenge()),
        ("bearer scope=one", Challenge(scopes=("one",))),
        ('Bearer realm="a, b", scope="one two", error="invalid_token"',
         Challenge(scopes=("one", "two"), error="invalid_token")),
        ('Basic realm="x", Bearer resource_metadata="https://a.example/m?b=c,d"',
         Challenge(resource_metadata="https://a.example/m?b=c,d")),
        ('Bearer scope="one", DPoP scope="two", algs="ES256"', Challenge(scopes=("one",))),
        ('Bearer error="a \\"quoted\\" word"', Challenge(error='a "quoted" word')),
        ('DPoP algs="ES256", scope="two", Bearer scope="one"', Challenge(scopes=("one",))),
        ('Bearer scope="one", Bearer scope="two", error="x"', Challenge(scopes=("one",))),
        ('Basic realm="Bearer scope=evil"', Challenge(token=False)),
        ('DPoP scope="two", error="invalid_token"', Challenge(bound=True, scopes=("two",), error="invalid_token")),
        ("Negotiate YWJj==", Challenge(token=False)),
        ('Bearer scope="never ends', Challenge()),
        ('=,,"" \x00 = "', Challenge(token=False)),
        pytest.param("Bearer " + 'a="' * 100_000, Challenge(), id="far too long"),
    ],
)  # fmt: skip
def test_a_challenge_is_read_as_it_is_meant(header: str, expected: Challenge) -> None:
    assert challenge_of({b"www-authenticate": header.encode()} if header else {}) == expected


def test_what_is_found_is_named_as_the_server_names_it_and_asked_where_it_says() -> None:
    async def test() -> None:
        async with world() as w:
            w.server.prm = {"scopes_supported": ["one"], "resource": f"{w.server.site.url}/"}
            fetcher = Fetcher(w.url)
            found = await find_resource(fetcher, w.url, Challenge())
            assert found == Found(f"{w.server.site.url}/", (w.giver.site.url,), ("one",))
            assert w.server.site.paths() == [PRM]
            server = await find_server(fetcher, found)
            assert (server.issuer, server.token_endpoint) == (w.giver.site.url, f"{w.giver.site.url}/token")
            # Nobody is asked more than is needed.
            assert w.giver.site.paths() == [METADATA]

    run(test())


def test_the_place_that_a_challenge_names_comes_before_all_others() -> None:
    async def test() -> None:
        async with world() as w:
            w.server.site.routes["/mine.json"] = w.server.site.routes.pop(PRM)
            challenge = Challenge(resource_metadata=f"{w.server.site.url}/mine.json")
            assert (await find_resource(Fetcher(w.url), w.url, challenge)).issuers == (w.giver.site.url,)
            assert w.server.site.paths() == ["/mine.json"]

    run(test())


def test_an_issuer_with_a_path_is_found_in_each_of_its_three_places() -> None:
    async def test() -> None:
        async with world() as w:
            issuer = f"{w.giver.site.url}/one"
            w.giver.said["issuer"] = issuer
            say = w.giver.site.routes.pop(METADATA)
            for place in (f"{METADATA}/one", f"{OPENID}/one", f"/one{OPENID}"):
                w.giver.site.routes[place] = say
                w.giver.site.asked.clear()
                assert (await find_server(Fetcher(w.url), Found(w.url, (issuer,)))).issuer == issuer
                assert w.giver.site.paths()[-1] == place
                del w.giver.site.routes[place]

    run(test())


@pytest.mark.parametrize("issuer", ["https://attacker.example", "{url}/other", "{url}//", "http://127.0.0.1:1"])
def test_whoever_claims_to_be_another_issuer_is_not_asked_for_anything(issuer: str) -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.said["issuer"] = issuer.format(url=w.giver.site.url)
            with pytest.raises(AuthorizationFailed, match="another issuer"):
                await w.oauth().login()
            assert w.giver.site.paths() == [METADATA]
            assert w.person.pages == []

    run(test())


def test_a_slash_behind_a_host_makes_no_other_issuer_but_one_behind_a_path_does() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.said["issuer"] = f"{w.giver.site.url}/"
            assert (await w.oauth().login()).issuer == f"{w.giver.site.url}/"
            w.giver.site.routes[f"{METADATA}/one"] = w.giver.site.routes[METADATA]
            w.server.prm = {"authorization_servers": [f"{w.giver.site.url}/one"]}
            w.giver.said["issuer"] = f"{w.giver.site.url}/one/"
            with pytest.raises(AuthorizationFailed, match="another issuer"):
                await w.oauth().login()

    run(test())


@pytest.mark.parametrize("resource", ["https://evil.example/mcp", "{url}/mcp/deeper", "{url}/mc", "nothing"])
def test_metadata_of_another_resource_is_refused(resource: str) -> None:
    async def test() -> None:
        async with world() as w:
            w.server.prm = {"resource": resource.format(url=w.server.site.url)}
            with pytest.raises(AuthorizationFailed):
                await w.oauth().login()
            assert w.giver.site.asked == []

    run(test())


GARBAGE: dict[str, Answer] = {
    "no JSON": Answer(200, b"<html>welcome"),
    "no object": json_answer([1, 2]),
    "nothing": Answer(200, b""),
    "other types": json_answer({"resource": 1, "issuer": [], "token_endpoint": None}),
    "half": Answer(200, b'{"resource": "http'),
    "too deep": Answer(200, b'{"resource":' + b"[" * 100_000),
    "no text": Answer(200, b'{"resource": "\xff\xfe"}'),
    "a redirect": Answer(302, b"", {"Location": "{other}/stolen"}),
    "ten megabytes": Answer(200, b'{"resource": "' + b"x" * 10_000_000 + b'"}'),
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_at_the_place_that_the_server_has_named_is_told_and_nothing_else_is_asked(kind: str) -> None:
    async def test() -> None:
        async with world() as w:
            w.server.site.routes[PRM] = lambda _: GARBAGE[kind]
            with pytest.raises(AuthorizationFailed) as failed:
                await w.oauth().login()
            assert len(failed.value.reason) < 400
            assert w.giver.site.asked == []

    run(test())


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_where_we_only_guess_is_passed_over(kind: str) -> None:
    async def test() -> None:
        async with world() as w:
            w.server.challenge = "Bearer"
            w.server.site.routes[ROOT_PRM] = w.server.site.routes[PRM]
            w.server.site.routes[PRM] = lambda _: GARBAGE[kind]
            w.giver.site.routes[OPENID] = w.giver.site.routes[METADATA]
            w.giver.site.routes[METADATA] = lambda _: GARBAGE[kind]
            assert (await w.oauth().login()).issuer == w.giver.site.url

    run(test())


def test_an_authorization_server_that_says_nothing_usable_is_named() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.site.routes[METADATA] = lambda _: GARBAGE["no JSON"]
            with pytest.raises(AuthorizationFailed, match="says nothing usable") as failed:
                await w.oauth().login()
            assert w.giver.site.url in failed.value.reason

    run(test())


@pytest.mark.parametrize("place", ["resource", "server"])
def test_whoever_is_slow_to_speak_of_itself_is_given_up_in_time(place: str) -> None:
    async def test() -> None:
        async def slow(_: Any) -> Answer:
            await asyncio.sleep(60)
            return Answer()

        async with world() as w:
            if place == "resource":
                w.server.site.routes[PRM] = slow
            else:
                w.giver.site.routes[METADATA] = slow
            async with asyncio.timeout(5):
                with pytest.raises(ConnectionFailed, match="no answer within"):
                    await w.oauth(fetcher=Fetcher(w.url, seconds=0.1)).login()

    run(test())


def test_metadata_can_not_send_us_to_a_plain_address_elsewhere() -> None:
    async def test() -> None:
        async with world() as w:
            w.server.challenge = 'Bearer resource_metadata="http://192.0.2.1/m"'
            with pytest.raises(AuthorizationFailed, match="is not https"):
                await w.oauth().login()
            w.server.challenge = "Bearer"
            w.server.prm = {"authorization_servers": ["http://192.0.2.1"]}
            with pytest.raises(AuthorizationFailed):
                await w.oauth().login()
            w.server.prm = {}
            for name in ("token_endpoint", "authorization_endpoint", "registration_endpoint"):
                w.giver.said = {name: "http://192.0.2.1/x"}
                with pytest.raises(AuthorizationFailed, match="is not https"):
                    await w.oauth().login()
            # Of one that is not as it should be, nothing is used.
            assert set(w.giver.site.paths()) == {METADATA}
            assert w.person.pages == []

    run(test())


def test_a_server_elsewhere_without_https_gets_no_token_at_all() -> None:
    async def test() -> None:
        async with world() as w:
            grant = await w.oauth().login()
            w.store.save("http://192.0.2.1/mcp", grant)
            w.server.site.url = "http://192.0.2.1"
            assert await w.oauth().token("http://192.0.2.1/mcp") is None
            with pytest.raises(AuthorizationFailed, match="is not https"):
                await w.oauth().challenged("http://192.0.2.1/mcp", 401, {}, None, 0)
            with pytest.raises(AuthorizationFailed, match="is not https"):
                await w.oauth().login()
            # One whose address is odd is talked to as before.
            assert (
                await OAuth("http://user:word@127.0.0.1/m p", w.store).token("http://user:word@127.0.0.1/m p") is None
            )

    run(test())


def test_in_the_oldest_revision_the_server_gives_its_tokens_itself() -> None:
    async def test() -> None:
        async with world() as w:
            # One host for both, and nothing said of the resource.
            w.server.prm, w.server.challenge = None, "Bearer"
            w.server.site.routes |= {path: w.giver.site.routes[path] for path in ("/authorize", "/token", "/register")}
            w.giver.site.url = w.server.site.url
            assert (await w.oauth().login()).issuer == w.server.site.url
            (page,) = w.person.pages
            assert page["resource"] == w.url
            assert w.server.site.paths("GET") == [PRM, ROOT_PRM, METADATA, OPENID, "/authorize"]
            # Where it has metadata, that counts; its issuer may be any address on the same host.
            w.server.site.routes[METADATA] = w.giver.site.routes[METADATA]
            w.server.site.routes["/elsewhere"] = w.server.site.routes.pop("/authorize")
            w.giver.said = {"authorization_endpoint": f"{w.server.site.url}/elsewhere", "issuer": f"{w.url}/oauth"}
            assert (await w.oauth().login()).issuer == f"{w.url}/oauth"
            w.giver.said["issuer"] = "https://attacker.example"
            with pytest.raises(AuthorizationFailed, match="another issuer"):
                await w.oauth().login()

    run(test())


def test_a_server_that_asks_for_no_login_is_told_as_one() -> None:
    async def test() -> None:
        async with world() as w:
            w.server.prm = None
            w.server.site.routes["/mcp"] = lambda _: json_answer({})
            with pytest.raises(AuthorizationFailed, match="asks for no login"):
                await w.oauth().login()

    run(test())
