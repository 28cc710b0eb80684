"""Artifacts: what a run has written, read from wherever it lies. Never inside a transaction: it may be on another machine."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kumihimo.domain.errors import ArtifactAway, ConfigError
from kumihimo.domain.execution import Execution
from kumihimo.domain.host import Host
from kumihimo.domain.identifiers import Identifiers
from kumihimo.engine.artifacts.artifact import ArtifactTrouble, Depot, Name, Piece, read_file
from kumihimo.services.host_name import known_host_id
from kumihimo.services.service import Clock, Service, query
from kumihimo.services.tokens import Tokens
from kumihimo.settings import Settings, from_environment
from kumihimo.store.store import Store, Transaction

if TYPE_CHECKING:
    from kumihimo.engine.artifacts.bucket import Bucket

# The folder that names what is still to be put into the depot.
WAITING = "deposits"
# Who did not answer is not asked again for so long: everybody who reads would wait for it.
_LEFT_ALONE_SECONDS = 5.0
_PASS = timedelta(seconds=60)


class Artifacts(Service):
    """Without `settings` only what lies on this machine is found."""

    def __init__(
        self, store: Store, clock: Clock, identifiers: Identifiers, *, tokens: Tokens, settings: Settings | None = None
    ) -> None:
        super().__init__(store, clock, identifiers)
        self._tokens = tokens
        self._settings = settings
        self._depot: Depot | None = None
        self._in_vain: dict[str, tuple[float, str]] = {}
        self._key: bytes | None = None

    def read(self, run: Execution, name: Name, begin: int, end: int) -> Piece | None:
        """What lies between, or some of it; a `begin` below 0 counts from the end. None where nothing is left of it here.
        ArtifactAway where it is on a host that can't be asked."""
        if run.log_path is None:
            return None
        ours = (
            self._settings is None or run.host_id is None or run.host_id == known_host_id(self._settings.state_folder)
        )
        try:
            found, trouble = self._here(run, name, begin, end, ours), None
        except ArtifactTrouble as error:
            # The home of another user of this machine, perhaps, whose door can be asked.
            found, trouble = None, str(error)
        if found is None and not run.live:
            found = self._deposited(run, name, begin, end)
        if found is None and not ours:
            return self._fetched(run, run.host_id or "", name, begin, end)
        if found is None and trouble is not None:
            raise ArtifactAway(run.id, run.host_id or "-", "host_unreadable", reason=trouble)
        return found

    def whole(self, run: Execution, name: Name, most: int) -> bytes | None:
        """All of it, up to so many bytes."""
        found = bytearray()
        while True:
            piece = self.read(run, name, len(found), most)
            if piece is None:
                return None
            found += piece.data
            if not piece.data or len(found) >= min(piece.size, most):
                return bytes(found)

    def _here(self, run: Execution, name: Name, begin: int, end: int, ours: bool) -> Piece | None:
        """At the path where it was written, or, where the home was moved since, in the home."""
        out = Path(run.log_path or "")
        found = read_file(out if name == "out" else out.with_name(name), begin, end)
        if found is None and ours and self._settings is not None:
            found = read_file(self._settings.state_folder / "runs" / run.id / name, begin, end)
        return found

    def _deposited(self, run: Execution, name: Name, begin: int, end: int) -> Piece | None:
        """Where that can't be asked, its host may be."""
        try:
            depot = self._opened()
            return None if depot is None else depot.read(run.id, name, begin, end)
        except (ArtifactTrouble, ConfigError):
            return None

    def _opened(self) -> Depot | None:
        if self._depot is None and self._settings is not None:
            self._depot = open_depot(self._settings)
        return self._depot

    def _fetched(self, run: Execution, host_id: str, name: Name, begin: int, end: int) -> Piece:
        from kumihimo.engine.artifacts.address import reachable
        from kumihimo.engine.artifacts.other_door import fetch, path_of
        from kumihimo.services.passes import sign_pass

        host = self._host(host_id)
        if host is None:
            raise ArtifactAway(run.id, host_id, "host_unknown")
        if host.state(self.clock()) == "gone":
            raise ArtifactAway(run.id, host.name, "host_gone")
        url = reachable(host.url) if host.url else None
        if url is None:
            raise ArtifactAway(run.id, host.name, "host_without_address")
        self._require_hope(run, host, url)
        self._key = self._key or self._tokens.signing_key()
        bearer = sign_pass(self._key, host.id, path_of(run.id, name), self.clock() + _PASS)
        try:
            found = fetch(url, bearer, run.id, name, begin, end)
        except ArtifactTrouble as error:
            self._in_vain[host.id] = (time.monotonic() + _LEFT_ALONE_SECONDS, str(error))
            raise ArtifactAway(run.id, host.name, "host_refused", url=url, reason=str(error)) from error
        if found is None:
            raise ArtifactAway(run.id, host.name, "cleared_away")
        return found

    def _require_hope(self, run: Execution, host: Host, url: str) -> None:
        until, reason = self._in_vain.get(host.id, (0.0, ""))
        if time.monotonic() < until:
            raise ArtifactAway(run.id, host.name, "host_refused", url=url, reason=reason)

    @query
    def _host(self, transaction: Transaction, host_id: str) -> Host | None:
        return transaction.hosts.get(host_id)


def open_depot(settings: Settings) -> Depot | None:
    """Where files of runs that are over are kept for everybody, if the user has such a place. ConfigError where it is not
    well described."""
    place = settings.artifacts
    if place.folder is not None:
        from kumihimo.engine.artifacts.folder import SharedFolder

        return SharedFolder(Path(place.folder).expanduser())
    return None if place.bucket is None else _bucket(settings, place.bucket)


def expect_deposit(settings: Settings, run_id: str) -> None:
    """There is something new of a run for the depot, if there is one."""
    if settings.artifacts.given:
        folder = settings.state_folder / WAITING
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / run_id).touch(mode=0o600)


def _bucket(settings: Settings, bucket: str) -> Bucket:
    from kumihimo.engine.artifacts.bucket import Bucket
    from kumihimo.engine.artifacts.signing import Keys

    place = settings.artifacts
    if not bucket.startswith("s3://") or not bucket.removeprefix("s3://").strip("/"):
        raise ConfigError("[artifacts] bucket", "bad_setting", reason=f"{bucket!r} is not as in 's3://name/prefix'")
    access = from_environment("[artifacts] access_key", place.access_key, os.environ)[1]
    secret = from_environment("[artifacts] secret_key", place.secret_key, os.environ)[1]
    session = place.session_token and from_environment("[artifacts] session_token", place.session_token, os.environ)[1]
    return Bucket(bucket, Keys(access, secret, session), place.region, place.endpoint)
