"""An authorization server and a resource that want proof of whose a token is (DPoP), and look closely at it."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from tests.wire.client.authorization.auth_kit import World
from tests.wire.client.authorization.auth_site import Answer, Asked, json_answer


def unwritten(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def opened(proof: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Head and claims of a proof, whose signature is good. AssertionError where it is not."""
    said, _, signature = proof.rpartition(".")
    head, claims = (json.loads(unwritten(part)) for part in said.split("."))
    assert (head["typ"], head["alg"]) == ("dpop+jwt", "ES256")
    assert set(head["jwk"]) == {"kty", "crv", "x", "y"}
    x, y = (int.from_bytes(unwritten(head["jwk"][axis])) for axis in "xy")
    raw = unwritten(signature)
    both = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    key = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    key.verify(both, said.encode(), ec.ECDSA(hashes.SHA256()))
    return head, claims


def thumbprint(jwk: dict[str, str]) -> str:
    return hashlib.sha256(json.dumps(jwk, sort_keys=True).encode()).hexdigest()


class Strict:
    """Makes a world's giver bind tokens to keys, and its server let in only who has the key. `nonces` is what each of them
    wants to see in a proof, where it wants anything; `wrong` what was wrong with the proofs that were not taken."""

    def __init__(self, world: World, *, algorithms: tuple[str, ...] = ("ES256",)) -> None:
        self.world = world
        self.nonces: dict[str, str] = {}
        self.keys: dict[str, str] = {}
        self.proofs: set[str] = set()
        self.wrong: list[str] = []
        self.binds = True
        self._give = world.giver.site.routes["/token"]
        self._let_in = world.server.site.routes["/mcp"]
        world.giver.said["dpop_signing_alg_values_supported"] = list(algorithms)
        world.giver.site.routes["/token"] = self._token
        world.server.site.routes["/mcp"] = self._mcp
        world.server.challenge = world.server.challenge.replace("Bearer", "DPoP")

    def _token(self, asked: Asked) -> Answer:
        key, problem = self._look(asked, "giver", self.world.giver.site.url, None)
        if problem is not None:
            return json_answer({"error": problem}, 400, DPoP_Nonce=self.nonces.get("giver", "none"))
        answer = self._give(asked)
        assert isinstance(answer, Answer)
        given = json.loads(answer.body)
        if answer.status == 200 and self.binds:
            given["token_type"] = "DPoP"
            self.keys[given["access_token"]] = key
        return json_answer(given, answer.status)

    def _mcp(self, asked: Asked) -> Answer:
        said = asked.headers.get("authorization", "")
        token = said.removeprefix("DPoP ") if said.startswith("DPoP ") else None
        if token is not None:
            key, problem = self._look(asked, "server", self.world.server.site.url, token)
            if problem == "use_dpop_nonce":
                nonce = self.nonces["server"]
                return json_answer({}, 401, WWW_Authenticate=f'DPoP error="{problem}"', DPoP_Nonce=nonce)
            if problem is None and self.keys.get(token) == key:
                asked.headers["authorization"] = f"Bearer {token}"
                answer = self._let_in(asked)
                assert isinstance(answer, Answer)
                return answer
        asked.headers["authorization"] = ""
        refusal = self._let_in(asked)
        assert isinstance(refusal, Answer)
        return refusal

    def _look(self, asked: Asked, who: str, url: str, token: str | None) -> tuple[str, str | None]:
        """Whose key it is; and what is wrong with the proof."""
        head, claims = opened(asked.headers["dpop"])
        expected = {"htm": asked.method, "htu": f"{url}{asked.path}", "iat": int(self.world.clock.now)}
        if token is not None:
            digest = hashlib.sha256(token.encode()).digest()
            expected["ath"] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        jti, nonce = claims.pop("jti"), claims.pop("nonce", None)
        if claims != expected or jti in self.proofs:
            self.wrong.append(f"{who}: {claims}")
            return "", "invalid_dpop_proof"
        self.proofs.add(jti)
        return thumbprint(head["jwk"]), None if nonce == self.nonces.get(who, nonce) else "use_dpop_nonce"
