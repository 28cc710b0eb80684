"""A person logs in: what they are shown, what must come back, and who we are to the authorization server."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from kumihimo.wire.client.authorization.client import Client
from kumihimo.wire.client.authorization.errors import AuthorizationFailed, TokenRefused
from tests.wire.client.authorization.auth_kit import METADATA, Person, World, world
from tests.wire.client.authorization.auth_site import json_answer
from tests.wire.client.client_kit import run

OURS = Client(id="ours", secret="a se:cret")


def test_a_login_asks_for_the_resource_with_a_proof_that_only_we_can_give() -> None:
    async def test() -> None:
        async with world() as w:
            grant = await w.oauth().login()
            (page,) = w.person.pages
            (asked,) = w.giver.site.at("/token")
            assert grant.access_token in w.giver.valid
            assert (page["response_type"], page["code_challenge_method"]) == ("code", "S256")
            assert page["resource"] == asked.form["resource"] == w.url
            assert page["redirect_uri"] == asked.form["redirect_uri"] == w.person.redirect_uri
            assert page["client_id"] == asked.form["client_id"] == "registered"
            assert len(asked.form["code_verifier"]) >= 43
            assert asked.form["code_verifier"] not in page.values()
            # Neither the state nor the proof is ever the same again.
            await w.oauth().login()
            assert not set(w.person.pages[0].values()) & {
                w.person.pages[1]["state"],
                w.person.pages[1]["code_challenge"],
            }

    run(test())


@pytest.mark.parametrize("methods", [None, [], ["plain"]])
def test_without_pkce_nobody_is_sent_anywhere(methods: list[str] | None) -> None:
    async def test() -> None:
        async with world() as w:
            # Nor can it say that it need not be asked.
            w.giver.said |= {"code_challenge_methods_supported": methods, "assumed": True}
            with pytest.raises(AuthorizationFailed, match="PKCE"):
                await w.oauth().login()
            assert w.person.pages == []
            assert w.giver.site.paths() == [METADATA]

    run(test())


@pytest.mark.parametrize("back", [{"state": "another"}, {"state": None}, {"state": ""}, {"code": None}, {"code": ""}])
def test_what_is_not_the_answer_to_our_question_gets_no_token(back: dict[str, str | None]) -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.back = back
            with pytest.raises(AuthorizationFailed):
                await w.oauth().login()
            assert w.giver.site.at("/token") == []
            assert w.store.load(w.url) is None

    run(test())


@pytest.mark.parametrize(
    ("promised", "came", "good"),
    [
        (True, "{url}", True),
        (True, None, False),
        (True, "https://evil.example", False),
        (True, "{url}/", False),
        (None, None, True),
        (None, "{url}", True),
        (None, "https://evil.example", False),
        (False, "{url}/", False),
    ],
)
def test_an_answer_from_another_issuer_is_not_believed(promised: bool | None, came: str | None, good: bool) -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.said["authorization_response_iss_parameter_supported"] = promised
            w.giver.back["iss"] = came and came.format(url=w.giver.site.url)
            if good:
                assert (await w.oauth().login()).access_token in w.giver.valid
                return
            # Nothing else of it is looked at, not even an error.
            w.giver.back |= {"error": "a-lie", "error_description": "click here"}
            with pytest.raises(AuthorizationFailed) as failed:
                await w.oauth().login()
            assert "a-lie" not in str(failed.value)
            assert "click" not in str(failed.value)
            assert w.giver.site.at("/token") == []

    run(test())


def test_a_refusal_is_told_in_the_words_of_who_refused_made_harmless() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.back = {"error": "access_denied", "error_description": "no\x1b[31m\n" + "!" * 5000}
            with pytest.raises(TokenRefused) as failed:
                await w.oauth().login()
            assert failed.value.code == "access_denied"
            assert failed.value.reason.isprintable()
            assert len(failed.value.reason) < 400

    run(test())


def _basic(form: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    pair = base64.b64decode(headers.get("authorization", "").removeprefix("Basic "))
    return pair == b"ours:a+se%3Acret" and "client_secret" not in form


def _post(form: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    return (form["client_id"], form["client_secret"]) == ("ours", "a se:cret") and "authorization" not in headers


def _none(form: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    return form["client_id"] == "ours" and "client_secret" not in form and "authorization" not in headers


@pytest.mark.parametrize(
    ("methods", "proven"),
    [
        (["client_secret_basic"], _basic),
        (["client_secret_post"], _post),
        (["none"], _none),
        (["client_secret_post", "client_secret_basic"], _basic),
        (None, _basic),
    ],
)
@pytest.mark.parametrize("registered", [True, False])
def test_we_prove_who_we_are_as_the_authorization_server_wants_it(methods: Any, proven: Any, registered: bool) -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.said["token_endpoint_auth_methods_supported"] = methods
            if registered:
                method = {_basic: "client_secret_basic", _post: "client_secret_post", _none: "none"}[proven]
                w.giver.registered = {
                    "client_id": "ours", "client_secret": "a se:cret", "token_endpoint_auth_method": method
                }  # fmt: skip
                await w.oauth().login()
            else:
                await w.oauth(client=OURS).login()
                assert w.giver.site.at("/register") == []
            (asked,) = w.giver.site.at("/token")
            assert proven(asked.form, asked.headers)
            # And again when it is renewed.
            w.giver.revoke_all()
            oauth = w.oauth(client=None if registered else OURS)
            assert await oauth.challenged(w.url, 401, {}, await oauth.token(w.url), 0)
            assert proven(w.giver.site.at("/token")[1].form, w.giver.site.at("/token")[1].headers)

    run(test())


def test_we_register_as_a_program_on_somebodys_machine_that_wants_its_tokens_renewed() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            (asked,) = w.giver.site.at("/register")
            assert asked.value["redirect_uris"] == [w.person.redirect_uri]
            assert asked.value["grant_types"] == ["authorization_code", "refresh_token"]
            assert (asked.value["application_type"], asked.value["token_endpoint_auth_method"]) == ("native", "none")

    run(test())


def test_a_document_about_us_is_our_name_where_that_is_understood() -> None:
    document = "https://a.example/client.json"

    async def test() -> None:
        async with world() as w:
            await w.oauth(document=document).login()
            assert w.person.pages[-1]["client_id"] == "registered"
            w.giver.said["client_id_metadata_document_supported"] = True
            await w.oauth(document=document).login()
            assert w.person.pages[-1]["client_id"] == document
            assert len(w.giver.site.at("/register")) == 1
            # One that was registered by hand comes first.
            await w.oauth(document=document, client=OURS).login()
            assert w.person.pages[-1]["client_id"] == "ours"

    run(test())


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "set its client_id"),
        (
            json_answer({"error": "invalid_redirect_uri", "error_description": "not native"}, 400),
            "invalid_redirect_uri",
        ),
        (json_answer({}, 403), "HTTP 403"),
        (json_answer({"client_secret": "only"}, 201), "another shape"),
        (json_answer({"client_id": "x", "token_endpoint_auth_method": "tls_client_auth"}, 201), "tls_client_auth"),
    ],
)
def test_a_registration_that_fails_is_told_with_what_to_do_or_why(answer: Any, told: str) -> None:
    async def test() -> None:
        async with world() as w:
            if answer is None:
                w.giver.said["registration_endpoint"] = None
            else:
                w.giver.site.routes["/register"] = lambda _: answer
            with pytest.raises(AuthorizationFailed, match=told):
                await w.oauth().login()
            assert w.person.pages == []

    run(test())


def test_a_client_belongs_to_one_authorization_server_and_is_never_shown_to_another() -> None:
    async def test() -> None:
        async with world() as w, world() as other:
            issuer = w.giver.site.url
            for client in (OURS, Client(id="ours", secret="a se:cret", issuer=issuer)):
                w.server.giver = w.giver
                await w.oauth(client=client).login()
                # The server now trusts another one.
                w.server.giver = other.giver
                with pytest.raises(AuthorizationFailed, match="belongs to"):
                    await w.oauth(client=client).login()
            assert other.giver.site.paths() == [METADATA] * 2

    run(test())


def test_where_several_are_trusted_the_one_that_our_client_belongs_to_is_asked() -> None:
    async def test() -> None:
        async with world() as w, world() as other:
            w.server.prm = {"authorization_servers": [other.giver.site.url, w.giver.site.url]}
            client = Client(id="ours", issuer=w.giver.site.url)
            assert (await w.oauth(client=client).login()).issuer == w.giver.site.url
            assert other.giver.site.asked == []

    run(test())


@pytest.mark.parametrize(
    ("challenged", "supported", "configured", "offered", "expected"),
    [
        ("one two", ["three"], (), None, "one two"),
        (None, ["three", "four"], (), None, "three four"),
        (None, None, (), None, None),
        (None, None, (), ["offline_access"], None),
        (None, ["three"], (), ["offline_access"], "three offline_access"),
        (None, ["three"], ("mine",), None, "mine"),
        ("one", ["three"], ("mine",), None, "mine one"),
    ],
)
def test_what_is_asked_for_is_what_the_server_wants_and_no_more(
    challenged: str | None, supported: Any, configured: tuple[str, ...], offered: Any, expected: str | None
) -> None:
    async def test() -> None:
        async with world() as w:
            w.server.challenge += f', scope="{challenged}"' if challenged else ""
            w.server.prm = {} if supported is None else {"scopes_supported": supported}
            w.giver.said["scopes_supported"] = offered
            await w.oauth(scopes=configured).login()
            (page,) = w.person.pages
            assert page.get("scope") == expected
            assert page.get("prompt") == ("consent" if expected and "offline" in expected else None)

    run(test())


@pytest.mark.parametrize(
    "answer",
    [
        {"access_token": "t", "token_type": "DPoP"},
        {"access_token": "", "token_type": "Bearer"},
        {"access_token": "a\r\nHost: b", "token_type": "Bearer"},
        {"access_token": "a b", "token_type": "Bearer"},
        {"token_type": "Bearer"},
        {"access_token": 5},
        [],
    ],
)
def test_what_is_no_bearer_token_is_not_kept(answer: Any) -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.site.routes["/token"] = lambda _: json_answer(answer)
            with pytest.raises(AuthorizationFailed):
                await w.oauth().login()
            assert w.store.load(w.url) is None

    run(test())


def test_a_no_with_a_status_that_says_yes_is_a_no() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.site.routes["/token"] = lambda _: json_answer({"error": "bad_verification_code"})
            with pytest.raises(TokenRefused, match="bad_verification_code"):
                await w.oauth().login()

    run(test())


def test_the_page_of_an_authorization_server_may_have_a_query_of_its_own() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.said["authorization_endpoint"] = f"{w.giver.site.url}/authorize?tenant=one"
            await w.oauth().login()
            assert w.person.pages[0]["tenant"] == "one"
            assert w.giver.site.at("/authorize")[0].query["response_type"] == "code"

    run(test())


def test_no_secret_is_in_what_is_shown_of_anything() -> None:
    async def test() -> None:
        async with world() as w:
            w.giver.said["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
            oauth = w.oauth(client=OURS)
            grant = await oauth.login()
            shown = " ".join(map(repr, (oauth, grant, OURS, w.target(oauth), w.store)))
            for secret in (grant.access_token, grant.refresh_token, OURS.secret):
                assert secret is not None
                assert secret not in shown
            w.giver.site.routes["/token"] = lambda asked: json_answer({"odd": asked.form}, 418)
            with pytest.raises(AuthorizationFailed) as failed:
                await oauth.login()
            assert OURS.secret not in str(failed.value)
            assert "code-" not in str(failed.value)

    run(test())


def test_a_person_who_never_comes_back_leaves_nothing_behind() -> None:
    class Gone(Person):
        async def open_page(self, url: str) -> Mapping[str, str]:
            raise AuthorizationFailed("nobody has come back")

    async def test() -> None:
        async with world() as w:
            w.person = Gone()
            with pytest.raises(AuthorizationFailed, match="nobody has come back"):
                await w.oauth().login()
            assert w.store.load(w.url) is None
            # And the next one can.
            w.person = Person()
            assert (await World.oauth(w).login()).access_token in w.giver.valid

    run(test())
