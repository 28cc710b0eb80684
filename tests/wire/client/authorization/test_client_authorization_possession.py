"""Tokens that are bound to a key: asked for where they can be had, and each request that brings one is signed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from kumihimo.wire.client.authorization.client import Client
from kumihimo.wire.client.authorization.client_credentials import ClientCredentials
from kumihimo.wire.client.authorization.errors import AuthorizationFailed
from kumihimo.wire.client.authorization.file_store import FileStore
from kumihimo.wire.client.connect import connect
from kumihimo.wire.client.errors import Refused
from tests.wire.client.authorization.auth_kit import world
from tests.wire.client.authorization.auth_site import Answer, Asked, json_answer
from tests.wire.client.authorization.proof_kit import Strict
from tests.wire.client.client_kit import US, run


def test_a_token_that_can_be_bound_is_and_every_request_proves_that_it_is_ours() -> None:
    async def test() -> None:
        async with world() as w:
            strict = Strict(w)
            async with await connect(w.target(), US) as session:
                assert (await session.call_tool("any")).text == "done"
            assert strict.wrong == []
            assert len(set(strict.keys.values())) == 1
            brought = [one for one in w.server.site.at("/mcp") if "dpop" in one.headers]
            assert len({one.headers["dpop"] for one in brought}) == len(brought) > 2
            assert w.server.calls == 1

    run(test())


def test_a_proof_is_for_the_address_without_what_is_asked_there() -> None:
    async def test() -> None:
        async with world() as w:
            strict = Strict(w)
            target = w.target()
            address = type(target)(url=f"{w.url}?a=b", authorization=target.authorization)
            async with await connect(address, US) as session:
                assert (await session.call_tool("any")).text == "done"
            assert strict.wrong == []

    run(test())


def test_who_wants_to_see_a_word_of_its_own_in_a_proof_is_shown_it() -> None:
    async def test() -> None:
        async with world() as w:
            strict = Strict(w)
            strict.nonces = {"giver": "of the giver", "server": "first"}
            async with await connect(w.target(), US) as session:
                assert (await session.call_tool("any")).text == "done"
                before = len(w.server.site.at("/mcp"))
                assert (await session.call_tool("any")).text == "done"
                # It is remembered: nothing is refused twice for it.
                assert len(w.server.site.at("/mcp")) == before + 1
                strict.nonces["server"] = "second"
                together = await asyncio.gather(*(session.call_tool("any") for _ in range(8)))
                assert [one.text for one in together] == ["done"] * 8
            assert strict.wrong == []
            assert w.server.calls == 10
            assert len(w.person.pages) == 1

    run(test())


def test_a_token_that_ends_while_the_word_changes_is_renewed_all_the_same() -> None:
    async def test() -> None:
        async with world() as w:
            strict = Strict(w)
            strict.nonces = {"server": "first"}
            async with await connect(w.target(), US) as session:
                strict.nonces["server"] = "second"
                w.giver.revoke_all()
                assert (await session.call_tool("any")).text == "done"
            assert w.giver.refreshes == 1
            assert len(w.person.pages) == 1

    run(test())


def test_whoever_always_wants_another_word_is_given_up() -> None:
    async def test() -> None:
        async with world() as w:
            await w.oauth().login()
            words = 0

            def never(_: Asked) -> Answer:
                nonlocal words
                words += 1
                said = {"WWW_Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP_Nonce": f"word {words}"}
                return json_answer({}, 401, **said)

            w.server.site.routes["/mcp"] = never
            with pytest.raises(Refused):
                await connect(w.target(w.alone()), US)
            assert words <= 6

    run(test())


def test_what_was_carried_out_is_not_sent_again_whatever_its_answer_says_of_proofs() -> None:
    async def test() -> None:
        async with world() as w:
            strict = Strict(w)
            let_in = w.server.site.routes["/mcp"]

            def confused(asked: Asked) -> Answer:
                answer = let_in(asked)
                assert isinstance(answer, Answer)
                said = {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": "another"}
                return Answer(answer.status, answer.body, {**said, **answer.headers})

            w.server.site.routes["/mcp"] = confused
            async with await connect(w.target(), US) as session:
                assert (await session.call_tool("any")).text == "done"
            assert (w.server.calls, strict.wrong) == (1, [])

    run(test())


def test_a_login_that_is_kept_goes_on_with_its_key_in_another_process(tmp_path: Path) -> None:
    async def test() -> None:
        async with world() as w:
            strict = Strict(w)
            w.store = FileStore(tmp_path)
            await w.oauth().login()
            for _ in range(2):
                w.clock.now += 3600
                async with await connect(w.target(w.alone()), US) as session:
                    assert (await session.call_tool("any")).text == "done"
            assert w.giver.refreshes == 2
            assert len(set(strict.keys.values())) == 1
            assert strict.wrong == []
            kept = FileStore(tmp_path).load(w.url)
            assert kept is not None
            assert kept.key is not None
            assert "PRIVATE" in kept.key.pem
            assert "PRIVATE" not in f"{kept!r} {kept.key!r}"
            assert "PRIVATE" not in w.everything_told(w.giver.site) + w.everything_told(w.server.site)

    run(test())


def test_another_login_with_the_same_giver_keeps_the_key() -> None:
    async def test() -> None:
        async with world() as w:
            strict = Strict(w)
            oauth = w.oauth()
            first, second = await oauth.login(), await oauth.login()
            assert first.key == second.key is not None
            assert len(set(strict.keys.values())) == 1

    run(test())


def test_a_token_that_is_not_bound_after_all_is_brought_as_any_other() -> None:
    async def test() -> None:
        async with world() as w:
            let_in, challenge = w.server.site.routes["/mcp"], w.server.challenge
            Strict(w).binds = False
            w.server.site.routes["/mcp"], w.server.challenge = let_in, challenge
            async with await connect(w.target(), US) as session:
                assert (await session.call_tool("any")).text == "done"
            assert all("dpop" not in one.headers for one in w.server.site.at("/mcp"))

    run(test())


def test_a_program_that_proves_itself_proves_its_tokens_as_well() -> None:
    async def test() -> None:
        async with world() as w:
            strict = Strict(w)
            strict.nonces = {"giver": "of the giver"}
            w.giver.said["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
            oauth = w.oauth(ClientCredentials(Client(id="program", secret="secret")))
            async with await connect(w.target(oauth), US) as session:
                assert (await session.call_tool("any")).text == "done"
            assert strict.wrong == []
            assert all(one.headers["authorization"].startswith("Basic ") for one in w.giver.site.at("/token"))

    run(test())


@pytest.mark.parametrize("algorithms", [(), ("RS256", "PS256")])
def test_a_server_that_wants_bound_tokens_which_nobody_gives_is_told_apart(algorithms: tuple[str, ...]) -> None:
    async def test() -> None:
        async with world() as w:
            Strict(w, algorithms=algorithms)
            with pytest.raises(AuthorizationFailed, match="bound to a key"):
                await connect(w.target(), US)
            # Nobody is asked to agree to what would not help.
            assert w.person.pages == []

    run(test())


def test_without_the_package_it_is_said_what_to_install_or_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with world() as w:
            let_in = w.server.site.routes["/mcp"]
            Strict(w)
            monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
            with pytest.raises(AuthorizationFailed, match="install the package 'cryptography'"):
                await connect(w.target(), US)
            w.server.site.routes["/mcp"], w.server.challenge = let_in, "Bearer"
            w.giver.site.routes["/token"] = lambda _: json_answer(w.giver.issue())
            async with await connect(w.target(), US) as session:
                assert (await session.call_tool("any")).text == "done"

    run(test())
