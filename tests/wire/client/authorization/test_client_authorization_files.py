"""Grants in files: readable by their owner alone, whole or not there, and shared by processes that renew at once."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from kumihimo.wire.client.authorization.client import Client
from kumihimo.wire.client.authorization.errors import AuthorizationFailed
from kumihimo.wire.client.authorization.file_store import FileStore
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.errors import ConnectionFailed
from tests.wire.client.authorization.auth_kit import world
from tests.wire.client.client_kit import run

URL = "https://a.example/mcp"
GRANT = Grant(
    access_token="access", issuer="https://b.example", token_endpoint="https://b.example/token",
    client=Client(id="one", secret="two", method="none"), resource=URL, scopes=("read",), refresh_token="again",
    expires_at=5.0, renew_at=4.0,
)  # fmt: skip


def test_what_is_kept_is_readable_by_its_owner_alone_whatever_the_mask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = FileStore(tmp_path / "one" / "two")
        store.save(URL, GRANT)
        run(_locked(store))
    finally:
        os.umask(before)
    files = list((tmp_path / "one" / "two").iterdir())
    assert len(files) == 2
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "one" / "two").stat().st_mode) == 0o700


async def _locked(store: FileStore) -> None:
    async with store.locked(URL):
        pass


def test_each_server_has_its_own_and_what_is_forgotten_is_gone(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    assert store.load(URL) is None
    store.save(URL, GRANT)
    assert FileStore(tmp_path).load(URL) == GRANT
    for other in (f"{URL}/", "https://a.example/mcp?x=../../etc", "x" * 5000):
        assert store.load(other) is None
        store.save(other, GRANT)
        assert store.load(other) == GRANT
        store.forget(other)
        assert store.load(other) is None
        store.forget(other)
    assert store.load(URL) == GRANT
    assert {file.suffix for file in tmp_path.iterdir()} == {".json"}


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"\xff\xfe", b'{"server": 1}', b'{"server": "x", "grant": {}}'])
def test_a_file_that_can_not_be_understood_is_as_good_as_none(tmp_path: Path, garbage: bytes) -> None:
    store = FileStore(tmp_path)
    store.save(URL, GRANT)
    (file,) = tmp_path.iterdir()
    file.write_bytes(garbage)
    assert store.load(URL) is None
    store.save(URL, GRANT)
    assert store.load(URL) == GRANT


def test_a_grant_that_was_put_under_another_server_is_not_used(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.save(URL, GRANT)
    (file,) = tmp_path.iterdir()
    kept = json.loads(file.read_bytes())
    assert kept["server"] == URL
    file.write_text(json.dumps({**kept, "server": "https://evil.example/mcp"}))
    assert store.load(URL) is None


def test_a_save_that_fails_leaves_what_was_there_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(tmp_path)
    store.save(URL, GRANT)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AuthorizationFailed, match="No space left"):
        store.save(URL, Grant(**{**{name: getattr(GRANT, name) for name in Grant.__struct_fields__}, "resource": "x"}))
    assert store.load(URL) == GRANT
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_can_not_be_had_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = FileStore(tmp_path / "file" / "folder")
    with pytest.raises(AuthorizationFailed, match="can't be kept"):
        store.save(URL, GRANT)
    with pytest.raises(AuthorizationFailed, match="can't be kept"):
        store.load(URL)

    async def test() -> None:
        with pytest.raises(AuthorizationFailed, match="can't be kept"):
            await _locked(store)

    run(test())


def test_whoever_is_alone_with_a_grant_is_alone_and_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async def test() -> None:
        one, other = FileStore(tmp_path), FileStore(tmp_path, lock_seconds=0.1)
        inside = 0

        async def enter() -> None:
            nonlocal inside
            async with one.locked(URL):
                inside += 1
                assert inside == 1
                await asyncio.sleep(0.002)
                inside -= 1

        await asyncio.gather(*(enter() for _ in range(10)))
        async with one.locked(URL), other.locked("https://c.example"):
            with pytest.raises(ConnectionFailed, match="another process"):
                await _locked(other)
        await _locked(other)

    run(test())


def test_processes_that_renew_at_once_never_use_a_refresh_token_twice(tmp_path: Path) -> None:
    script = Path(__file__).parent / "refresher.py"

    async def test() -> None:
        async with world() as w:
            w.store = FileStore(tmp_path)
            await w.oauth().login()
            words = [sys.executable, str(script), w.url, str(tmp_path), "6"]
            pipe = asyncio.subprocess.PIPE
            started = [await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe) for _ in range(4)]
            told = await asyncio.gather(*(one.communicate() for one in started))
            # One that was used before would have been refused, and ended its process.
            assert [out for out, _ in told] == [b"good\n"] * 4, told
            # One for each refusal at most, and one before all: by the clock of the processes the first token ends soon.
            assert 7 <= w.giver.refreshes <= 25
            kept = w.store.load(w.url)
            assert kept is not None
            assert (kept.access_token in w.giver.valid, kept.refresh_token in w.giver._refresh) == (True, True)

    run(test())
