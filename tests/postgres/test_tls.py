"""TLS as libpq does it: a server that proves who it is is used, any other is not."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kumihimo.domain.errors import StoreUnreachable
from kumihimo.store.bell import bell_of
from kumihimo.store.store import connect
from kumihimo.testing.boards import BoardKit
from tests.postgres.line import name_of
from tests.postgres.pooler import Pooler, needs_pooler
from tests.postgres.test_lost_commits import names

# The PostgreSQL of the tests is built without TLS; PgBouncer speaks it in the same way.
pytestmark = [
    needs_pooler,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed: no certificate can be made"),
]
Opened = Callable[[str], BoardKit]


def certificate(folder: Path, name: str) -> Path:
    """One that signs itself, for localhost by its name and no number."""
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    made = folder / f"{name}.pem"
    subprocess.run(
        ["openssl", *words.split(), "-out", str(made), "-keyout", str(folder / f"{name}.key")],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    made.chmod(0o644)
    return made


class Secure:
    def __init__(self, folder: Path, url: str) -> None:
        self.root, self.other = certificate(folder, "server"), certificate(folder, "other")
        self._name = name_of(url)
        self._pooler = Pooler(
            folder, url, pool_mode="session", default_pool_size=8, client_tls_sslmode="require",
            client_tls_cert_file=self.root, client_tls_key_file=folder / "server.key",
        )  # fmt: skip
        self.stop = self._pooler.stop

    def url(self, words: str, host: str = "localhost") -> str:
        return f"postgresql://postgres@{host}:{self._pooler.port}/{self._name}?{words}"


@pytest.fixture
def secure(url: str) -> Iterator[Secure]:
    with tempfile.TemporaryDirectory(prefix="kumi-tls-") as folder:
        made = Secure(Path(folder), url)
        yield made
        made.stop()


def test_a_board_on_a_server_that_proves_who_it_is_works(secure: Secure, opened: Opened) -> None:
    url = secure.url(f"sslmode=verify-full&sslrootcert={secure.root}")
    kit = opened(url)
    with closing(bell_of(kit.board.store)) as bell:
        kit.board.agents.add("safe")
        assert bell.wait(30.0)
    assert names(opened(url)) == ["safe"]


@pytest.mark.parametrize(
    ("host", "root", "why"),
    [("localhost", "other", "certificate verify failed"), ("127.0.0.1", "server", "does not match host name")],
)
def test_a_server_that_is_not_who_it_should_be_is_not_spoken_to(secure: Secure, host: str, root: str, why: str) -> None:
    trusted = secure.root if root == "server" else secure.other
    with pytest.raises(StoreUnreachable, match=why):
        connect(secure.url(f"sslmode=verify-full&sslrootcert={trusted}", host))


def test_a_server_that_asks_for_tls_is_not_spoken_to_without(secure: Secure) -> None:
    with pytest.raises(StoreUnreachable, match="SSL required"):
        connect(secure.url("sslmode=disable"))


def test_a_server_without_tls_is_not_used_where_tls_is_asked_for(url: str) -> None:
    with tempfile.TemporaryDirectory(prefix="kumi-tls-") as folder:
        plain = Pooler(Path(folder), url)
        try:
            with pytest.raises(StoreUnreachable, match="does not support SSL"):
                connect(plain.url(url, more="&sslmode=verify-full&sslrootcert=system"))
        finally:
            plain.stop()
