"""The way into the dashboard: a link that is good once, then a cookie for this page alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from kumihimo.surfaces.http import throttle
from kumihimo.surfaces.http.codes import GOOD_FOR_SECONDS, Codes
from kumihimo.surfaces.http.cookies import Cookies
from tests.locks.browser import Browser
from tests.mcp.http_door import HttpDoor


def kumi_open(door: HttpDoor) -> str:
    environment = {"KUMI_HOME": str(door.town.home), "KUMI_DB": door.town.database, "PATH": os.environ["PATH"]}
    words = [sys.executable, "-m", "kumihimo", "open", "--json"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["url"]


def test_the_link_of_kumi_open_lets_in_once(door: HttpDoor, stranger: Browser) -> None:
    url = kumi_open(door)
    assert url.startswith(f"http://127.0.0.1:{door.running.port}/login?code=")
    path = url.removeprefix(f"http://127.0.0.1:{door.running.port}")
    assert stranger.get(path).status == 200
    assert stranger.get("/").status == 200
    again = Browser(door)
    assert again.get(path).status == 403
    assert again.cookie is None
    assert "kumi open" in again.get(path).body


def test_the_cookie_is_for_no_script_and_for_this_site_alone(browser: Browser, door: HttpDoor) -> None:
    given = Browser(door).get(f"/login?code={Codes(door.town.home).make()}").headers["set-cookie"]
    assert "HttpOnly" in given
    assert "SameSite=Strict" in given
    assert "Path=/" in given
    assert browser.post("/api/v1/board/status").status == 200


def test_without_a_cookie_nothing_is_shown(stranger: Browser) -> None:
    for path in ("/", "/assets/app.js", "/openapi.json", "/metrics"):
        assert stranger.get(path).status == 401, path
    assert stranger.post("/api/v1/board/status").status == 401
    assert "kumi open" in stranger.get("/").body
    assert stranger.get("/healthz").status == 200


def test_a_cookie_that_is_not_ours_or_is_too_old_is_worth_nothing(
    browser: Browser, door: HttpDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert browser.cookie is not None
    name, _, value = browser.cookie.partition("=")
    for wrong in ("", "x", f"9999999999.x.{value.rpartition('.')[2]}", value[:-2] + "xx"):
        browser.cookie = f"{name}={wrong}"
        assert browser.post("/api/v1/board/status").status == 401, wrong
    then = time.time() - 31 * 24 * 3600
    monkeypatch.setattr("kumihimo.surfaces.http.cookies.time.time", lambda: then)
    browser.cookie = Cookies(door.owner).header(secure=False).decode().partition(";")[0]
    assert browser.post("/api/v1/board/status").status == 401


def test_a_new_token_of_the_owner_ends_every_cookie(browser: Browser) -> None:
    assert browser.cookie is not None
    assert not Cookies("another token").admits(browser.cookie.encode())


def test_who_signs_out_is_out(browser: Browser) -> None:
    assert browser.get("/logout").status == 405
    assert browser.post("/logout").status == 200
    assert browser.get("/").status == 401


def test_guessing_is_slowed_down(door: HttpDoor, stranger: Browser) -> None:
    for _ in range(throttle.MOST_FAILURES):
        assert stranger.get("/login?code=guess").status == 403
    refused = stranger.get(f"/login?code={Codes(door.town.home).make()}")
    assert refused.status == 429
    assert int(refused.headers["retry-after"]) > 0


def test_a_code_is_good_for_some_minutes_and_its_file_does_not_tell_it(door: HttpDoor, stranger: Browser) -> None:
    codes = Codes(door.town.home)
    code = codes.make()
    (file,) = (door.town.home / "logins").iterdir()
    assert code not in file.name
    assert file.stat().st_mode & 0o777 == 0o600
    old = time.time() - GOOD_FOR_SECONDS - 5
    os.utime(file, (old, old))
    assert stranger.get(f"/login?code={code}").status == 403


def test_who_reads_japanese_is_told_in_japanese_how_to_come_in(stranger: Browser) -> None:
    told = stranger.get("/", **{"accept-language": "ja-JP,ja;q=0.9"})
    assert (told.status, 'lang="ja"' in told.body, "サインイン" in told.body) == (401, True, True)
    assert "kumi open" in told.body
