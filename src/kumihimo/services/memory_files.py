"""The active memories of a project as files in its folder, `.kumi/memory/CATEGORY/ID.md`: a copy for people and programs.

The store is the truth. It is read again under a lock, so that of several who write at once the last one writes what stands.
Agents work in the same folder, so nothing there is trusted: no link is followed, and a file that is not ours by its own
words is neither changed nor removed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kumihimo.domain import text
from kumihimo.domain.errors import InvalidValue
from kumihimo.domain.memory import Memory
from kumihimo.services.exclusion import keep_out_of_git

FOLDER = ".kumi"
_ROOM = "memory"
_LOCK = "memory.lock"
_SUFFIX = ".md"
_GENERATOR = "kumihimo"
# Who holds the lock writes some small files. One that was suspended meanwhile must not hold up everybody else.
_PATIENCE_SECONDS = 5.0
_A_MOMENT = 0.01
# More than any memory takes: what is longer is not ours to look at in full.
_LONGEST = 1 << 22
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def write(folder: Path, read: Callable[[], Sequence[Memory]]) -> list[str]:
    """Bring the files up to what `read` answers. What could not be done is told, a sentence each; nothing is raised for it."""
    troubles: list[str] = []
    try:
        # Who is about to write has made the lock before it reads: without one, whoever comes will see what we see.
        if os.path.lexists(folder / FOLDER / _LOCK) or read():
            with _opened(folder) as kumi, _locked(kumi):
                _Room(kumi, folder / FOLDER / _ROOM, troubles).fill(read())
    except OSError as error:
        troubles.append(f"{folder / FOLDER}: {error.strerror or error}")
    return troubles


def page(memory: Memory) -> str:
    """The content of a file. A title is quoted as in JSON, which YAML reads as well."""
    facts = {
        "id": memory.slug,
        "category": memory.category,
        "title": json.dumps(memory.title, ensure_ascii=False),
        "status": memory.status,
        "updated": memory.updated_at.isoformat().replace("+00:00", "Z"),
        "generator": _GENERATOR,
    }
    parts = [f"# {memory.title}", *(part.strip() for part in (memory.summary, memory.content) if part.strip())]
    return "\n".join(["---", *(f"{name}: {value}" for name, value in facts.items()), "---", "", "\n\n".join(parts), ""])


class _Room:
    """`.kumi/memory`, while the lock is held."""

    def __init__(self, kumi: int, path: Path, troubles: list[str]) -> None:
        self._kumi = kumi
        self._path = path
        self._troubles = troubles

    def fill(self, memories: Sequence[Memory]) -> None:
        wanted: dict[str, dict[str, str]] = {}
        for memory in memories:
            try:
                category, slug = text.slug("category", memory.category), text.slug("id", memory.slug)
            except InvalidValue as refusal:
                # No door lets one in; a board that was filled by hand may have it, and it is no name of a file.
                self._troubles.append(f"{memory.id}: {refusal}")
            else:
                wanted.setdefault(category, {})[slug] = page(memory)
        if wanted:
            _make(_ROOM, self._kumi)
        with suppress(FileNotFoundError), _directory(_ROOM, self._kumi) as room:
            for category, pages in sorted(wanted.items()):
                self._told(category, lambda c=category, p=pages: self._fill(room, c, p))
            for name in sorted(os.listdir(room)):  # noqa: PTH208 - by descriptor, which pathlib does not know
                self._told(name, lambda n=name: self._clear(room, n, wanted.get(n, {})))

    def _told(self, name: str, act: Callable[[], None]) -> None:
        """One that fails does not keep the others from being done."""
        try:
            act()
        except OSError as error:
            self._troubles.append(f"{self._path / name}: {error.strerror or error}")

    def _fill(self, room: int, category: str, pages: dict[str, str]) -> None:
        _make(category, room)
        with _directory(category, room) as shelf:
            for slug, content in sorted(pages.items()):
                name = f"{slug}{_SUFFIX}"
                self._told(f"{category}/{name}", lambda n=name, c=content: self._put(shelf, category, n, c.encode()))

    def _put(self, shelf: int, category: str, name: str, content: bytes) -> None:
        try:
            found = _content(shelf, name)
        except FileNotFoundError:
            found = None
        if found == content:
            return
        if found is not None and not _is_ours(found, category, name):
            raise OSError(errno.EEXIST, "somebody else's file is in the way; it was left as it is")
        _replace(shelf, name, content)

    def _clear(self, room: int, category: str, pages: dict[str, str]) -> None:
        """Ours that are wanted no longer, and their folder where nothing else is in it."""
        try:
            with _directory(category, room) as shelf:
                stale = [name for name in os.listdir(shelf) if _is_stale(shelf, category, name, pages)]  # noqa: PTH208
                for name in stale:
                    os.unlink(name, dir_fd=shelf)
        except OSError as error:
            # Not a folder, or a link to one: nothing that we have made.
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                return
            raise
        if stale:
            with suppress(OSError):
                os.rmdir(category, dir_fd=room)


def _is_stale(shelf: int, category: str, name: str, pages: dict[str, str]) -> bool:
    if not name.endswith(_SUFFIX) or name.removesuffix(_SUFFIX) in pages:
        return False
    try:
        return _is_ours(_content(shelf, name), category, name)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOENT):
            return False
        raise


def _is_ours(content: bytes, category: str, name: str) -> bool:
    """By its own words, which name the place where it lies: a copy of one of ours that somebody made is theirs."""
    head = content.partition(b"\n---\n")[0].decode("utf-8", "replace").split("\n")
    facts = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    told = (head[0], facts.get("generator"), facts.get("id"), facts.get("category"))
    return told == ("---", _GENERATOR, name.removesuffix(_SUFFIX), category)


def _content(shelf: int, name: str) -> bytes:
    """Of a plain file. Anything else is somebody else's: a link, a pipe that nobody writes to, a folder."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=shelf)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise OSError(errno.EEXIST, "a link or a device is in the way; it was left as it is") from error
        raise
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EEXIST, "something that is no file is in the way; it was left as it is")
        return file.read(_LONGEST)


def _replace(shelf: int, name: str, content: bytes) -> None:
    """Whole or not at all, also when the machine stops: half a file would not be known as ours any more."""
    draft = f".{name}.draft"
    with suppress(FileNotFoundError):
        # Of one that was killed: nobody else is at it while we hold the lock.
        os.unlink(draft, dir_fd=shelf)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(draft, flags, 0o644, dir_fd=shelf), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.rename(draft, name, src_dir_fd=shelf, dst_dir_fd=shelf)


def _make(name: str, parent: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=parent)


@contextmanager
def _directory(name: str, parent: int) -> Generator[int, None, None]:
    descriptor = os.open(name, _DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _opened(folder: Path) -> Generator[int, None, None]:
    """`.kumi` of a project, made where it is missing. The project's folder itself is never made."""
    project = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not (folder / FOLDER).exists():
            # Before it is there: nobody is to see it in a list of changes.
            keep_out_of_git(folder)
        _make(FOLDER, project)
        with _directory(FOLDER, project) as kumi:
            yield kumi
    finally:
        os.close(project)


@contextmanager
def _locked(kumi: int) -> Generator[None, None, None]:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        flags = os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(_LOCK, flags, 0o644, dir_fd=kumi)
        try:
            _hold(descriptor, deadline)
            if _is_there(descriptor, kumi):
                yield
                return
        finally:
            os.close(descriptor)


def _hold(descriptor: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise OSError(errno.EBUSY, "somebody else has been writing for too long") from None
            # The kernel tells nobody when a lock becomes free who does not want to wait for ever.
            time.sleep(_A_MOMENT)
        else:
            return


def _is_there(descriptor: int, kumi: int) -> bool:
    """Whether the lock that is held is still the one that the next one will find."""
    try:
        found = os.stat(_LOCK, dir_fd=kumi, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))
