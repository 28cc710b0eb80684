"""`/artifacts/<run>/<name>`: what a run of this host has written, for the owner and for other doors of the board."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kumihimo.domain.errors import ExecutionNotFound
from kumihimo.domain.execution import Execution
from kumihimo.engine.artifacts.artifact import NAMES, ArtifactTrouble, Name, read_file, span
from kumihimo.engine.artifacts.other_door import MOST_BYTES, PREFIX, SIZE
from kumihimo.engine.processes.wrapper import RunFolder
from kumihimo.services.passes import is_pass
from kumihimo.services.verifying import folder_of
from kumihimo.surfaces.http.access import Access, asked, bearer
from kumihimo.wire.http import Refusal
from kumihimo.wire.http_respond import respond_json

if TYPE_CHECKING:
    from kumihimo.services.board import Board
    from kumihimo.surfaces.mcp.door import Door
    from kumihimo.wire.http_respond import Send

_RUN = re.compile(r"[a-z]{1,16}_[0-9A-Za-z]{1,64}")
_CHUNK = 1 << 18
_NOTHING = b'{"error":{"code":"NotHere","message":"this host has no such file of a run"}}'
_NO_RANGE = b'{"error":{"code":"InvalidValue","message":"`begin` and `end` are whole numbers"}}'
_BY_GET = b'{"error":{"code":"MethodNotAllowed","message":"Files of runs are read with GET."}}'


class Files:
    """The files of runs behind one door. Nothing of other hosts is handed on: who asks goes to the host itself."""

    def __init__(self, door: Door, access: Access) -> None:
        self._door = door
        self._access = access

    async def admit(self, path: str, scope: Any) -> Refusal | None:
        """The owner, and another door that comes with a pass for this very path."""
        secret = bearer(dict(scope["headers"])).decode("latin-1")
        # No token of anybody has a dot.
        if "." in secret:
            admitted = await self._door.elsewhere(
                lambda board: is_pass(self._access.board_key(board), secret, self._access.host, path, board.clock())
            )
            if admitted:
                return None
        return await self._access.owner_alone(scope)

    async def serve(self, path: str, scope: Any, send: Send) -> None:
        run, _, name = path.removeprefix(PREFIX).partition("/")
        begin, end = _number(scope, "begin", 0), _number(scope, "end", sys.maxsize)
        if scope["method"] != "GET":
            await respond_json(send, 405, _BY_GET, ((b"allow", b"GET"),))
        elif not _RUN.fullmatch(run) or name not in NAMES:
            await respond_json(send, 404, _NOTHING)
        elif begin is None or end is None:
            await respond_json(send, 400, _NO_RANGE)
        else:
            await self._send(run, name, begin, end, send)

    async def _send(self, run: str, name: Name, begin: int, end: int, send: Send) -> None:
        found = await self._door.elsewhere(lambda board: self._find(board, run, name))
        if found is None:
            await respond_json(send, 404, _NOTHING)
            return
        file, size = found
        begin, end = span(begin, end, size)
        end = min(end, begin + MOST_BYTES)
        headers = [
            (b"content-type", b"application/octet-stream"),
            (b"content-length", b"%d" % (end - begin)),
            (SIZE.encode(), b"%d" % size),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while begin < end:
            chunk = await self._door.elsewhere(lambda _, begin=begin: _read(file, begin, min(end, begin + _CHUNK)))
            if not chunk:
                # It became shorter in between. The length was told: whoever reads notices.
                break
            begin += len(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _find(self, board: Board, run_id: str, name: Name) -> tuple[Path, int] | None:
        """The file, and how much of it may be read. None where it is not here, or nobody may read it yet."""
        try:
            run = board.executions.show(run_id)
        except ExecutionNotFound:
            return None
        if run.id != run_id or run.host_id != self._access.host:
            return None
        folder = folder_of(self._door.settings, run.id)
        try:
            size = (folder / name).stat().st_size
        except OSError:
            return None
        if name == "out":
            # What lies behind has not been looked at for secrets.
            return folder / name, min(size, board.executions.sight(run.id).seen.position)
        return (folder / name, size) if _is_settled(run, folder) else None


def _is_settled(run: Execution, folder: Path) -> bool:
    """Whether secrets are struck out of all of it: when a run is over, and of one that was given up when its host has been
    through what it left."""
    if run.live:
        return False
    return run.status != "lost" or ((folder / "proof.json").exists() and RunFolder(folder).is_over())


def _read(path: Path, begin: int, end: int) -> bytes:
    try:
        found = read_file(path, begin, end)
    except ArtifactTrouble:
        return b""
    return b"" if found is None else found.data


def _number(scope: Any, name: str, default: int) -> int | None:
    text = asked(scope, name)
    if text is None:
        return default
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None
