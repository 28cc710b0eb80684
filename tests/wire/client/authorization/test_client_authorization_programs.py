"""Programs that have tokens of their own: by a secret, a private key, or a statement that another has signed."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from kumihimo.wire.client.authorization.client import Client, PrivateKey
from kumihimo.wire.client.authorization.client_credentials import ClientCredentials
from kumihimo.wire.client.authorization.errors import AuthorizationFailed, TokenRefused
from kumihimo.wire.client.authorization.fetching import Fetcher
from kumihimo.wire.client.authorization.jwt_bearer import IdentityProvider, JwtBearer
from kumihimo.wire.client.authorization.metadata import ServerMetadata
from kumihimo.wire.client.authorization.way import Wanted
from kumihimo.wire.client.connect import connect
from tests.wire.client.authorization.auth_kit import refused, world
from tests.wire.client.authorization.auth_site import json_answer
from tests.wire.client.client_kit import US, run

CLIENT = Client(id="program", secret="secret")


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> str:
    kind = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption()).decode()


def unwritten(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def test_a_program_with_a_secret_gets_its_token_with_nobody_asked() -> None:
    async def test() -> None:
        async with world() as w:
            w.server.challenge += ', scope="read"'
            w.giver.said["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
            oauth = w.oauth(ClientCredentials(CLIENT, scopes=("mine",)))
            async with await connect(w.target(oauth), US) as session:
                assert (await session.call_tool("any")).text == "done"
                (asked,) = w.giver.site.at("/token")
                assert asked.form == {
                    "grant_type": "client_credentials", "scope": "mine read", "resource": w.url,
                    "client_id": "program", "client_secret": "secret",
                }  # fmt: skip
                # It has nothing to renew it with: it asks for another.
                w.giver.revoke_all()
                assert (await session.call_tool("any")).text == "done"
            assert len(w.giver.site.at("/token")) == 2
            assert w.person.pages == []

    run(test())


def test_a_program_that_is_always_refused_gives_up() -> None:
    async def test() -> None:
        async with world() as w:
            oauth = w.oauth(ClientCredentials(CLIENT))
            answers = [await refused(oauth, w.url, await oauth.token(w.url), attempt=n) for n in range(4)]
            assert answers == [True, False, False, False]
            w.giver.site.routes["/token"] = lambda _: json_answer({"error": "invalid_client"}, 401)
            with pytest.raises(TokenRefused, match="invalid_client"):
                await refused(oauth, w.url, await oauth.token(w.url))

    run(test())


@pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
def test_a_program_with_a_private_key_signs_for_this_authorization_server_and_for_a_short_time(algorithm: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else rsa.generate_private_key(65537, 2048)

    async def test() -> None:
        async with world() as w:
            client = Client(id="program", key=PrivateKey(pem(key), algorithm))  # type: ignore[arg-type]
            oauth = w.oauth(ClientCredentials(client))
            assert await refused(oauth, w.url, None)
            form = w.giver.site.at("/token")[0].form
            head, claims, signature = form["client_assertion"].split(".")
            said = f"{head}.{claims}".encode()
            if isinstance(key, ec.EllipticCurvePrivateKey):
                halves = [int.from_bytes(unwritten(signature)[at : at + 32], "big") for at in (0, 32)]
                key.public_key().verify(encode_dss_signature(*halves), said, ec.ECDSA(hashes.SHA256()))
            else:
                key.public_key().verify(unwritten(signature), said, padding.PKCS1v15(), hashes.SHA256())
            told = json.loads(unwritten(claims))
            assert json.loads(unwritten(head))["alg"] == algorithm
            assert (told["iss"], told["sub"], told["aud"]) == ("program", "program", w.giver.site.url)
            assert told["exp"] - told["iat"] == 300
            assert form["client_assertion_type"].endswith("jwt-bearer")
            assert await refused(oauth, w.url, await oauth.token(w.url))
            assert form["client_assertion"] != w.giver.site.at("/token")[1].form["client_assertion"]
            kept = w.store.load(w.url)
            assert kept is not None
            assert kept.client.key is None
            assert "PRIVATE" not in repr(client) + repr(client.key)

    run(test())


@pytest.mark.parametrize(
    "key",
    [
        PrivateKey("garbage"),
        PrivateKey(pem(ec.generate_private_key(ec.SECP384R1()))),
        PrivateKey(pem(ec.generate_private_key(ec.SECP256R1())), "RS256"),
    ],
)
def test_a_key_that_can_not_be_used_is_told_and_not_shown(key: PrivateKey) -> None:
    async def test() -> None:
        async with world() as w:
            oauth = w.oauth(ClientCredentials(Client(id="program", key=key)))
            with pytest.raises(AuthorizationFailed, match="the private key") as failed:
                await refused(oauth, w.url, None)
            assert key.pem not in str(failed.value)

    run(test())


def test_a_statement_of_a_platform_is_a_token_and_asked_for_each_time() -> None:
    statements = iter(["first", "second"])

    async def statement(wanted: Wanted) -> str:
        return f"{next(statements)} for {wanted.resource}"

    async def test() -> None:
        async with world() as w:
            oauth = w.oauth(JwtBearer(statement, CLIENT, scopes=("read",)))
            for _ in range(2):
                assert await refused(oauth, w.url, await oauth.token(w.url))
            asked = [one.form for one in w.giver.site.at("/token")]
            assert [one["assertion"] for one in asked] == [f"first for {w.url}", f"second for {w.url}"]
            assert asked[0]["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
            assert (asked[0]["resource"], asked[0]["scope"]) == (w.url, "read")

    run(test())


def test_a_statement_that_is_refused_is_not_tried_again() -> None:
    async def statement(_: Wanted) -> str:
        return "expired"

    async def test() -> None:
        async with world() as w:
            w.giver.site.routes["/token"] = lambda _: json_answer({"error": "invalid_grant"}, 400)
            with pytest.raises(TokenRefused, match="invalid_grant"):
                await connect(w.target(w.oauth(JwtBearer(statement, CLIENT))), US)
            assert len(w.giver.site.at("/token")) == 1

    run(test())


def test_a_companys_login_states_who_may_use_a_server() -> None:
    async def test() -> None:
        async with world() as w, world() as company:
            company.giver.site.routes["/token"] = lambda _: json_answer(
                {"access_token": "a-statement", "token_type": "N_A", "expires_in": 300}
            )
            us = Client(id="us-there", method="none")
            provider = IdentityProvider(f"{company.giver.site.url}/token", us, lambda: "an-id-token")
            oauth = w.oauth(JwtBearer(provider, CLIENT))
            assert await refused(oauth, w.url, None)
            (exchange,) = company.giver.site.at("/token")
            assert (exchange.form["audience"], exchange.form["resource"]) == (w.giver.site.url, w.url)
            assert (exchange.form["subject_token"], exchange.form["client_id"]) == ("an-id-token", "us-there")
            (asked,) = w.giver.site.at("/token")
            assert asked.form["assertion"] == "a-statement"
            # It is named by us: where the server is does not matter.
            elsewhere = "https://a.example/mcp"
            server = ServerMetadata(issuer="https://b.example", token_endpoint="https://b.example/token")
            assert await provider(Wanted(server, elsewhere, (), Fetcher(elsewhere), 0.0)) == "a-statement"
            # Neither the person's own token nor our secret goes where it does not belong.
            assert "an-id-token" not in w.everything_told(w.giver.site)
            assert "secret" not in exchange.body.decode() + str(exchange.headers)

    run(test())


def test_nothing_of_this_is_loaded_before_a_server_has_an_authorization() -> None:
    look = (
        "import sys; import kumihimo.wire.client.connect; "
        "print([name for name in sys.modules if 'authorization.' in name or name in ('cryptography', 'httpx', 'mcp')])"
    )
    found = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "['kumihimo.wire.client.authorization.authorization']"
