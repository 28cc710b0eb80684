"""A file of somebody else's, changed in one step or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

BACKUP = ".kumi-backup"
_MARK = b"\xef\xbb\xbf"
_TRIES = 10

Change = Callable[[str], str]


class Busy(Exception):
    """The file was changed by somebody else each time we were about to change it."""


class Written(Struct, frozen=True):
    """Whether there was something to write, and where the file as it was is kept (None for a file that is new)."""

    changed: bool
    backup: str | None = None


class _Found(Struct, frozen=True):
    """A file as it was read; `status` is None where there is none."""

    raw: bytes
    status: os.stat_result | None

    @property
    def text(self) -> str:
        return self.raw.removeprefix(_MARK).decode()

    def raw_of(self, text: str) -> bytes:
        return (_MARK if self.raw.startswith(_MARK) else b"") + text.encode()


def preview(path: str, change: Change) -> bool:
    """Whether the change would change the file. Nothing is written. Raises as `rewrite` does."""
    found = _read(Path(os.path.realpath(path)))
    return change(found.text) != found.text


def rewrite(path: str, change: Change, private: bool) -> Written:
    """The file with the change made to its text, which is empty where there is no file.

    A link stays and what it points to is replaced, by a finished file with the permissions of the old one. Two of us wait for
    one another, and a file that its client wrote in the meantime is read again. A new file is the user's alone where it is
    `private`. Raises OSError, UnicodeDecodeError or Busy, and what `change` raises; then nothing was written.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with _alone_in(target.parent):
        for _ in range(_TRIES):
            found = _read(target)
            text = change(found.text)
            if text == found.text:
                return Written(False)
            _check_writable(target, found)
            staged = _stage(target, found.raw_of(text), found.status, private)
            try:
                if not _unchanged(target, found):
                    continue
                backup = _back_up(path, found)
                staged.replace(target)
            finally:
                staged.unlink(missing_ok=True)
            _sync(target.parent)
            return Written(True, backup)
    raise Busy


def _read(target: Path) -> _Found:
    try:
        status = target.stat()
        # A pipe or a device would be read for ever.
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(target))
        return _Found(target.read_bytes(), status)
    except FileNotFoundError:
        return _Found(b"", None)


def _check_writable(target: Path, found: _Found) -> None:
    """A file that was made read-only is meant to stay as it is, although its folder would let us replace it."""
    if found.status is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))


def _unchanged(target: Path, found: _Found) -> bool:
    now = _read(target)
    return (now.status is None) == (found.status is None) and now.raw == found.raw


def _stage(target: Path, raw: bytes, status: os.stat_result | None, private: bool) -> Path:
    """The new file, complete and on the disk, beside the old one."""
    staged = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    opened = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private or status else 0o666)
    try:
        with os.fdopen(opened, "wb") as file:
            if status is not None:
                with suppress(PermissionError):
                    os.fchown(opened, status.st_uid, status.st_gid)
                os.fchmod(opened, stat.S_IMODE(status.st_mode))
            file.write(raw)
            file.flush()
            os.fsync(opened)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise
    return staged


def _back_up(path: str, found: _Found) -> str | None:
    """The file as it was before we first touched it, beside the name by which its client knows it."""
    if found.status is None:
        return None
    backup = Path(path + BACKUP)
    if backup.exists():
        return str(backup)
    staged = _stage(backup, found.raw, found.status, private=True)
    try:
        with suppress(FileExistsError):
            # Unlike a rename, a link never takes the place of what is there.
            backup.hardlink_to(staged)
    finally:
        staged.unlink()
    return str(backup)


@contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """One of us at a time. The folder itself is the lock, so that none is left behind."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems have no locks; the comparison before the rename is left there.
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
