"""A bucket of a storage that speaks S3, of Amazon or of anybody else."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, urlsplit

from kumihimo.engine.artifacts.artifact import ArtifactTrouble, Name, Piece, span
from kumihimo.engine.artifacts.asking import Answer, ask
from kumihimo.engine.artifacts.signing import EMPTY, Keys, signed

_CHUNK = 1 << 20
_MOST_SAID = 1 << 16
_REASON = re.compile(rb"<Code>([A-Za-z0-9]+)</Code>")
_BEHIND_THE_END = 416


class Bucket:
    """`place` is `s3://name/prefix`; without an `endpoint` it is Amazon's."""

    def __init__(
        self,
        place: str,
        keys: Keys,
        region: str,
        endpoint: str | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        parts = urlsplit(place)
        self._path = "/" + "/".join(part for part in (parts.netloc, parts.path.strip("/")) if part)
        self._endpoint = (endpoint or f"https://s3.{region}.amazonaws.com").rstrip("/")
        self._keys = keys
        self._region = region
        self._now = now or _now

    def read(self, run: str, name: Name, begin: int, end: int) -> Piece | None:
        if begin < 0:
            # Not all storages know what is meant by a range from the end.
            size = self._size(run, name)
            if size is None:
                return None
            begin, end = span(begin, end, size)
        if begin >= end:
            return Piece(b"", begin)
        answer = self._ask("GET", run, name, EMPTY, {"range": f"bytes={begin}-{end - 1}"}, most=end - begin)
        if self._is_missing(answer):
            return None
        if answer.status == _BEHIND_THE_END:
            return Piece(b"", _whole(answer))
        self._require(answer, 200, 206)
        # Who does not know ranges sends all of it.
        part = answer.body if "content-range" in answer.headers else answer.body[begin:end]
        return Piece(part, _whole(answer))

    def _size(self, run: str, name: Name) -> int | None:
        answer = self._ask("HEAD", run, name, EMPTY, {})
        if self._is_missing(answer):
            return None
        self._require(answer, 200)
        return int(answer.headers.get("content-length", "0"))

    @staticmethod
    def _is_missing(answer: Answer) -> bool:
        return answer.status == 404 and _reason(answer) != "NoSuchBucket"

    def put(self, run: str, name: Name, file: Path, size: int) -> None:
        with ExitStack() as stack:
            try:
                content = stack.enter_context(file.open("rb"))
            except OSError as error:
                raise ArtifactTrouble(f"{file}: {error.strerror or error}") from error
            payload = _digest(content, size)
            answer = self._ask("PUT", run, name, payload, {"content-length": str(size)}, body=_Begin(content, size))
        self._require(answer, 200)

    def _ask(
        self,
        method: str,
        run: str,
        name: Name,
        payload: str,
        headers: Mapping[str, str],
        *,
        body: _Begin | None = None,
        most: int = 0,
    ) -> Answer:
        path = quote(f"{self._path}/{run}/{name}", safe="/-_.~")
        parts = urlsplit(self._endpoint)
        own = signed(self._keys, self._region, method, parts.netloc, path, payload, self._now())
        # A complaint may be longer than what was asked for.
        return ask(
            method,
            self._endpoint,
            {**own, **headers},
            most=max(most, _MOST_SAID),
            path=path,
            body=body,  # pyright: ignore[reportArgumentType]
        )

    def _require(self, answer: Answer, *good: int) -> None:
        if answer.status not in good:
            raise ArtifactTrouble(f"{self._endpoint}{self._path}: {_reason(answer) or answer.status}")


class _Begin:
    """The first bytes of a file, for who reads until there are no more."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> bytes:
        found = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(found)
        return found


def _digest(content: BinaryIO, size: int) -> str:
    digest = hashlib.sha256()
    reader = _Begin(content, size)
    while chunk := reader.read(_CHUNK):
        digest.update(chunk)
    content.seek(0)
    return digest.hexdigest()


def _reason(answer: Answer) -> str | None:
    found = _REASON.search(answer.body)
    return found[1].decode() if found else None


def _whole(answer: Answer) -> int:
    """How many bytes there are in all."""
    total = answer.headers.get("content-range", "").rpartition("/")[2]
    return int(total) if total.isdigit() else len(answer.body)


def _now() -> datetime:
    return datetime.now(UTC)
