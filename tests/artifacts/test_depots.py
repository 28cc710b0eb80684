"""Where files of runs are kept for all hosts: a folder that they share, and a bucket of a real storage that speaks S3."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kumihimo.domain.artifact_place import ArtifactPlace
from kumihimo.domain.errors import ConfigError
from kumihimo.engine.artifacts.artifact import ArtifactTrouble, Depot, Name
from kumihimo.engine.artifacts.bucket import Bucket
from kumihimo.engine.artifacts.folder import SharedFolder
from kumihimo.engine.artifacts.signing import Keys, signed
from kumihimo.services.artifacts import open_depot
from kumihimo.settings import Flags, load
from tests.artifacts.storage import KEYS, Storage

RUN = "exec_0123456789ab"
ALL = sys.maxsize


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    made = Storage(tmp_path / "storage")
    yield made
    made.stop()


@pytest.fixture(params=["folder", "bucket"])
def depot(request: pytest.FixtureRequest, tmp_path: Path) -> Depot:
    if request.param == "folder":
        (tmp_path / "shared").mkdir()
        return SharedFolder(tmp_path / "shared")
    return request.getfixturevalue("storage").bucket()


def put(depot: Depot, folder: Path, name: Name, content: bytes, size: int | None = None) -> None:
    file = folder / "file"
    file.write_bytes(content)
    depot.put(RUN, name, file, len(content) if size is None else size)


def data(depot: Depot, name: Name, begin: int = 0, end: int = 1 << 20) -> bytes:
    found = depot.read(RUN, name, begin, end)
    assert found is not None
    return found.data


def test_what_was_put_is_read_in_pieces(depot: Depot, tmp_path: Path) -> None:
    content = bytes(range(256)) * 20
    put(depot, tmp_path, "out", content)
    assert data(depot, "out") == content
    assert data(depot, "out", 3, 9) == content[3:9]
    assert data(depot, "out", -7, ALL) == content[-7:]
    assert data(depot, "out", -10 * len(content), ALL) == content
    assert data(depot, "out", len(content), ALL) == b""
    assert data(depot, "out", 9, 9) == b""
    found = depot.read(RUN, "out", 0, 10)
    assert found is not None
    assert found.size == len(content)


def test_only_the_first_bytes_of_a_file_are_put_where_that_is_asked(depot: Depot, tmp_path: Path) -> None:
    put(depot, tmp_path, "out", b"clean\nhalf a secret", size=6)
    assert data(depot, "out") == b"clean\n"


def test_an_empty_file_is_there_and_one_that_was_never_put_is_not(depot: Depot, tmp_path: Path) -> None:
    put(depot, tmp_path, "err", b"")
    assert data(depot, "err") == b""
    assert data(depot, "err", -16, ALL) == b""
    assert depot.read(RUN, "proof.json", 0, 10) is None
    assert depot.read("exec_nobody", "out", 0, 10) is None


def test_what_is_put_again_stands_in_place_of_the_old(depot: Depot, tmp_path: Path) -> None:
    for content in (b"a long first proof", b"second"):
        put(depot, tmp_path, "proof.json", content)
    assert data(depot, "proof.json") == b"second"


def test_the_storage_refuses_who_signs_with_a_wrong_key(storage: Storage, tmp_path: Path) -> None:
    forged = storage.bucket(keys=Keys(KEYS.access, "another secret"))
    for use in (lambda: put(forged, tmp_path, "out", b"x"), lambda: forged.read(RUN, "out", 0, 1)):
        with pytest.raises(ArtifactTrouble, match="SignatureDoesNotMatch"):
            use()
    with pytest.raises(ArtifactTrouble, match="InvalidAccessKeyId"):
        storage.bucket(keys=Keys("nobody", KEYS.secret)).read(RUN, "out", 0, 1)
    assert KEYS.secret not in repr(Keys("name", KEYS.secret))


def test_a_bucket_that_is_not_there_is_said_and_not_taken_for_an_empty_one(storage: Storage) -> None:
    with pytest.raises(ArtifactTrouble, match="NoSuchBucket"):
        storage.bucket("s3://nowhere").read(RUN, "out", 0, 1)


def test_a_storage_that_is_away_is_said(storage: Storage) -> None:
    storage.stop()
    with pytest.raises(ArtifactTrouble):
        storage.bucket().read(RUN, "out", 0, 1)


def test_a_folder_that_is_not_mounted_is_said_and_not_made(tmp_path: Path) -> None:
    depot = SharedFolder(tmp_path / "away")
    with pytest.raises(ArtifactTrouble, match="mounted"):
        put(depot, tmp_path, "out", b"x")
    with pytest.raises(ArtifactTrouble, match="mounted"):
        depot.read(RUN, "out", 0, 1)
    assert not (tmp_path / "away").exists()


def test_a_token_of_a_session_is_signed_with_the_rest() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    plain = signed(Keys("a", "s"), "r", "GET", "h", "/p", "x", at)
    told = signed(Keys("a", "s", "t"), "r", "GET", "h", "/p", "x", at)
    assert told["x-amz-security-token"] == "t"
    assert "x-amz-security-token" in told["authorization"]
    assert told["authorization"] != plain["authorization"]


def test_the_place_is_read_from_the_users_own_file_with_keys_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, repository = tmp_path / "home", tmp_path / "repository"
    home.mkdir()
    repository.mkdir()
    environ = {"KUMI_HOME": str(home)}
    assert open_depot(load(Flags(), environ, repository)) is None
    (home / "config.toml").write_text('[artifacts]\nbucket = "s3://name/prefix"\nsecret_key = "${MY_SECRET}"\n')
    settings = load(Flags(), environ, repository)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "me")
    monkeypatch.delenv("MY_SECRET", raising=False)
    with pytest.raises(ConfigError, match="MY_SECRET"):
        open_depot(settings)
    monkeypatch.setenv("MY_SECRET", "hush")
    assert isinstance(open_depot(settings), Bucket)
    (home / "config.toml").write_text('[artifacts]\nbucket = "https://name"\n')
    with pytest.raises(ConfigError, match="s3://"):
        open_depot(load(Flags(), environ, repository))
    (home / "config.toml").unlink()
    (repository / "kumi.toml").write_text('[artifacts]\nfolder = "/tmp/elsewhere"\n')
    with pytest.raises(ConfigError, match="artifacts"):
        load(Flags(), environ, repository)
    assert not ArtifactPlace().given


@pytest.mark.parametrize("url", ["kumi.example", "ftp://a", "https://a/path", "http://127.0.0.1:1#machine", "https://"])
def test_an_address_of_a_host_that_is_none_is_told_with_its_line(tmp_path: Path, url: str) -> None:
    (tmp_path / "config.toml").write_text(f'[host]\nurl = "{url}"\n')
    with pytest.raises(ConfigError, match=r"config\.toml"):
        load(Flags(), {"KUMI_HOME": str(tmp_path)}, tmp_path)
