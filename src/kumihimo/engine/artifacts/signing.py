"""Requests that are signed as Amazon's storage wants them: Signature Version 4."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

EMPTY = hashlib.sha256(b"").hexdigest()
_ALGORITHM = "AWS4-HMAC-SHA256"


class Keys(Struct, frozen=True):
    access: str
    secret: str
    session: str | None = None

    def __repr__(self) -> str:
        return f"Keys({self.access!r})"


def signed(
    keys: Keys, region: str, method: str, host: str, path: str, payload: str, at: datetime, query: str = ""
) -> Mapping[str, str]:
    """The headers of a request for this path, as it is sent. `payload` is the SHA-256 of its body."""
    moment = at.strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": host, "x-amz-content-sha256": payload, "x-amz-date": moment}
    if keys.session is not None:
        headers["x-amz-security-token"] = keys.session
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{payload}"
    scope = f"{moment[:8]}/{region}/s3/aws4_request"
    told = "\n".join((_ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()))
    signature = hmac.new(_key(keys.secret, scope), told.encode(), "sha256").hexdigest()
    headers["authorization"] = (
        f"{_ALGORITHM} Credential={keys.access}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return headers


def _key(secret: str, scope: str) -> bytes:
    key = b"AWS4" + secret.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
