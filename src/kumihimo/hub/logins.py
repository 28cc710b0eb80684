"""Logins at servers on the network: who has the tokens of a server, and where they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kumihimo.domain.errors import ConfigError
from kumihimo.hub.configuration import Auth, ServerConfig
from kumihimo.settings import folders

if TYPE_CHECKING:
    from kumihimo.wire.client.authorization.client import Client
    from kumihimo.wire.client.authorization.login import OpenBrowser
    from kumihimo.wire.client.authorization.oauth import OAuth
    from kumihimo.wire.client.authorization.store import Store
    from kumihimo.wire.client.authorization.way import Way


def authorization_of(config: ServerConfig, ours: Mapping[str, str], browser: OpenBrowser | None = None) -> OAuth | None:
    """None where none is needed: the server is started here, or its headers hold what lets us in. Without a browser
    nobody can log in, but who has logged in before stays so."""
    if config.transport not in ("http", "sse") or any(name.lower() == "authorization" for name in config.headers):
        return None
    assert config.url is not None, "checked when it was read"
    # Only who has a server on the network needs all this.
    from kumihimo.wire.client.authorization.oauth import OAuth

    return OAuth(config.url, _store(ours), _way(config.auth or Auth(), browser))


def forget_login(config: ServerConfig, ours: Mapping[str, str]) -> bool:
    """False where there is nothing that could be forgotten."""
    if authorization_of(config, ours) is None or config.url is None:
        return False
    _store(ours).forget(config.url)
    return True


def _store(ours: Mapping[str, str]) -> Store:
    from kumihimo.wire.client.authorization.file_store import FileStore
    from kumihimo.wire.client.authorization.store import MemoryStore

    try:
        return FileStore(folders(ours)[2] / "logins")
    except ConfigError:
        # Nobody is at home here: nothing can be kept.
        return MemoryStore()


def _way(auth: Auth, browser: OpenBrowser | None) -> Way:
    from kumihimo.wire.client.authorization.client_credentials import ClientCredentials
    from kumihimo.wire.client.authorization.login import Login

    client = _client(auth)
    if auth.grant == "client_credentials" and client is not None:
        return ClientCredentials(client, scopes=auth.scopes)
    return Login(browser, client=client, document=auth.client_metadata_url, scopes=auth.scopes)


def _client(auth: Auth) -> Client | None:
    from kumihimo.wire.client.authorization.client import Client, PrivateKey

    if auth.client_id is None:
        return None
    key = None
    if auth.private_key_file is not None:
        try:
            key = PrivateKey(Path(auth.private_key_file).read_text(), auth.algorithm)
        except OSError as error:
            raise ConfigError(auth.private_key_file, "bad_setting", reason=error.strerror or str(error)) from None
    return Client(id=auth.client_id, secret=auth.client_secret, key=key, issuer=auth.issuer)
