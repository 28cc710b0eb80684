"""The dashboard's files, and the way in: `/`, `/assets/…`, `/login`, `/logout`."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Awaitable, Callable, Iterable
from functools import cache, lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kumihimo.settings import Language
from kumihimo.surfaces.http.access import asked
from kumihimo.surfaces.http.cookies import removal
from kumihimo.surfaces.http.languages import language_of
from kumihimo.surfaces.http.throttle import Throttle

if TYPE_CHECKING:
    from kumihimo.surfaces.http.codes import Codes
    from kumihimo.surfaces.http.cookies import Cookies
    from kumihimo.wire.http_respond import Send

Headers = list[tuple[bytes, bytes]]
ASSETS = "/assets/"
# Nothing from elsewhere, nothing inline, in nobody's frame.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_GUARDED: Headers = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]
_WORDS: dict[str, dict[Language, str]] = {
    "waiting": {
        "en": "Too many wrong links were tried. Wait {seconds} seconds, then run `kumi open` again.",
        "ja": "誤ったリンクが何度も試されました。{seconds} 秒待ってから `kumi open` をもう一度実行してください。",
    },
    "used": {
        "en": "This link was used before, is too old, or is for another host: a link opens the door whose address it begins "
        "with. Run `kumi open` for a new one.",
        "ja": "このリンクは使用済みか期限切れ、または別のホストのものです(リンクは先頭のアドレスのホストだけで使えます)。"
        "`kumi open` で新しいリンクを作ってください。",
    },
    "needed": {
        "en": "Run `kumi open` in a terminal on this machine: it opens this page and signs you in.",
        "ja": "このマシンの端末で `kumi open` を実行すると、サインインしてこのページが開きます。",
    },
    "in": {"en": "You are signed in.", "ja": "サインインしました。"},
    "out": {
        "en": "You are signed out. `kumi open` signs you in again.",
        "ja": "サインアウトしました。`kumi open` でもう一度サインインできます。",
    },
    "by_post": {"en": "Signing out is done by POST.", "ja": "サインアウトは POST で行います。"},
    "by_get": {"en": "A page is read by GET.", "ja": "ページは GET で読みます。"},
    "nothing": {
        "en": "There is nothing here: `/` is the dashboard.",
        "ja": "ここには何もありません。`/` がダッシュボードです。",
    },
}


class Asset(NamedTuple):
    kind: bytes
    tag: bytes
    plain: bytes
    packed: bytes


class Pages:
    def __init__(
        self, cookies: Cookies, codes: Codes, language: Language, board_key: Callable[[], Awaitable[bytes]]
    ) -> None:
        self._cookies = cookies
        self._board_key = board_key
        self._language: Language = language
        self._codes = codes
        self._throttle = Throttle()

    async def login(self, scope: Any, send: Send) -> None:
        """A code that is good is exchanged for a cookie. A page then goes on to the dashboard by itself: a redirect from
        somewhere else would not carry a cookie that is for this site alone."""
        secure = scope.get("scheme") == "https"
        wait = self._throttle.wait_seconds
        if wait:
            await self._say(scope, send, 429, "waiting", [(b"retry-after", b"%d" % wait)], seconds=wait)
        elif scope["method"] != "GET" or not self._codes.redeem(asked(scope, "code") or ""):
            self._throttle.failed()
            await self._say(scope, send, 403, "used")
        else:
            cookie = (b"set-cookie", self._cookies.header(secure=secure, board_key=await self._board_key()))
            await self._say(scope, send, 200, "in", [cookie], onward="/")

    async def logout(self, scope: Any, names: Iterable[str], send: Send) -> None:
        """By POST alone: a picture on a foreign page must not sign anybody out. `names` are of the cookies that let in."""
        if scope["method"] != "POST":
            await self._say(scope, send, 405, "by_post", [(b"allow", b"POST")])
            return
        secure = scope.get("scheme") == "https"
        await self._say(scope, send, 200, "out", [(b"set-cookie", removal(name, secure=secure)) for name in names])

    async def ask_for_login(self, scope: Any, send: Send) -> None:
        await self._say(scope, send, 401, "needed")

    async def serve(self, path: str, scope: Any, send: Send) -> None:
        """A file of the page; to whoever may see it."""
        if scope["method"] not in ("GET", "HEAD"):
            await self._say(scope, send, 405, "by_get", [(b"allow", b"GET, HEAD")])
            return
        asset = _asset("index.html" if path == "/" else path.removeprefix(ASSETS))
        if asset is None:
            await self._say(scope, send, 404, "nothing")
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        common = [(b"etag", asset.tag), (b"cache-control", b"no-cache"), (b"vary", b"accept-encoding"), *_GUARDED]
        if headers.get(b"if-none-match") == asset.tag:
            await _send(send, 304, common, b"")
        elif b"gzip" in headers.get(b"accept-encoding", b""):
            coded = [(b"content-type", asset.kind), (b"content-encoding", b"gzip"), *common]
            await _send(send, 200, coded, asset.packed)
        else:
            await _send(send, 200, [(b"content-type", asset.kind), *common], asset.plain)

    async def _say(
        self,
        scope: Any,
        send: Send,
        status: int,
        what: str,
        headers: Headers | None = None,
        onward: str = "",
        **facts: int,
    ) -> None:
        """A page of one sentence."""
        language = language_of(scope, self._language)
        text = _WORDS[what][language].format(**facts)
        go_on = f'<meta http-equiv="refresh" content="0; url={onward}">' if onward else ""
        link = f'<p><a href="{onward}">Kumihimo</a></p>' if onward else ""
        body = (
            f'<!doctype html><html lang="{language}"><meta charset="utf-8">{go_on}<title>Kumihimo</title>'
            f'<meta name="viewport" content="width=device-width"><h1>組紐 Kumihimo</h1><p>{escape(text)}</p>{link}</html>'
        ).encode()
        common = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store"), *_GUARDED]
        await _send(send, status, [*common, *(headers or [])], body)


async def _send(send: Send, status: int, headers: Headers, body: bytes) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


@cache
def _folder() -> Path:
    return Path(str(files("kumihimo.surfaces.dashboard"))) / "page"


def _asset(name: str) -> Asset | None:
    """A file inside the folder of the page; None for everything else, however it is written."""
    folder = _folder()
    file = folder / name
    if ".." in file.parts or not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
        return None
    return _read(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _read(file: Path, _: int) -> Asset:
    plain = file.read_bytes()
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    charset = "; charset=utf-8" if kind.startswith("text/") or kind.endswith(("json", "javascript")) else ""
    tag = f'"{hashlib.sha256(plain).hexdigest()[:24]}"'
    return Asset(f"{kind}{charset}".encode(), tag.encode(), plain, gzip.compress(plain, mtime=0))
