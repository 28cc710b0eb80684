"""Grants in files, one for each server, that only their owner can read; several processes may share them."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import secrets
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec
from msgspec import Struct

from kumihimo.wire.client.authorization.errors import AuthorizationFailed
from kumihimo.wire.client.authorization.grant import Grant
from kumihimo.wire.client.errors import ConnectionFailed
from kumihimo.wire.jsonrpc import UNREADABLE

# Whoever has the lock asks for a token meanwhile, which is bounded.
LOCK_SECONDS = 60.0
_LOOK_SECONDS = 0.02


class _Kept(Struct):
    server: str
    grant: Grant


class FileStore:
    """In a folder that is made when it is needed."""

    def __init__(self, folder: Path, *, lock_seconds: float = LOCK_SECONDS) -> None:
        self._folder = folder
        self._lock_seconds = lock_seconds

    def load(self, server_url: str) -> Grant | None:
        """None also where the file can't be understood: a login writes another."""
        try:
            kept = msgspec.json.decode(self._file(server_url).read_bytes(), type=_Kept)
        except (FileNotFoundError, *UNREADABLE):
            return None
        except OSError as error:
            raise _unkept(error) from None
        return kept.grant if kept.server == server_url else None

    def save(self, server_url: str, grant: Grant) -> None:
        """As a whole or not at all."""
        file = self._file(server_url)
        draft = file.with_suffix(f".{secrets.token_hex(8)}")
        try:
            self._make_folder()
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                out.write(msgspec.json.encode(_Kept(server_url, grant)))
                out.flush()
                os.fsync(out.fileno())
            draft.replace(file)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise _unkept(error) from None

    def forget(self, server_url: str) -> None:
        self._file(server_url).unlink(missing_ok=True)

    @contextlib.asynccontextmanager
    async def locked(self, server_url: str) -> AsyncGenerator[None]:
        """The lock is a file of its own: the other one is replaced, not written."""
        held = self._open_lock(server_url)
        try:
            try:
                async with asyncio.timeout(self._lock_seconds):
                    while not _taken(held):  # noqa: ASYNC110 - who has it is another process
                        await asyncio.sleep(_LOOK_SECONDS)
            except TimeoutError:
                raise ConnectionFailed(
                    f"another process has held the token of {server_url} for {self._lock_seconds:g} s"
                ) from None
            yield
        finally:
            # Closing it lets go of it.
            os.close(held)

    def _open_lock(self, server_url: str) -> int:
        try:
            self._make_folder()
            return os.open(self._file(server_url).with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unkept(error) from None

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def _file(self, server_url: str) -> Path:
        # An address may be longer than a file's name, and have what that can't.
        return self._folder / f"{hashlib.sha256(server_url.encode()).hexdigest()[:32]}.json"


def _unkept(error: OSError) -> AuthorizationFailed:
    return AuthorizationFailed(f"the login can't be kept in {error.filename}: {error.strerror}")


def _taken(held: int) -> bool:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
