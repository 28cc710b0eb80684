"""The host process of a home is found by the file that it leaves, for as long as it lives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kumihimo.engine.processes import identity
from kumihimo.services.hosting import FILE, Running, find_running


def test_a_host_process_is_found_for_as_long_as_it_lives_and_its_file_is_there(tmp_path: Path) -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = identity.of(sleeper.pid)
    assert process is not None
    assert find_running(tmp_path) is None
    running = Running("http://127.0.0.1:1", 1, process)

    def put(what: bytes) -> None:
        (tmp_path / "new").write_bytes(what)
        (tmp_path / "new").rename(tmp_path / FILE)

    put(msgspec.json.encode(running))
    assert [find_running(tmp_path), find_running(tmp_path)] == [running, running]
    # Another one may have taken its place.
    moved = replace(running, port=22)
    put(msgspec.json.encode(moved))
    assert find_running(tmp_path) == moved
    put(b"half of")
    assert find_running(tmp_path) is None
    put(msgspec.json.encode(running))
    assert find_running(tmp_path) == running
    (tmp_path / FILE).unlink()
    assert find_running(tmp_path) is None
    put(msgspec.json.encode(running))
    assert find_running(tmp_path) == running
    sleeper.communicate(b"\n", timeout=60)
    assert [find_running(tmp_path), find_running(tmp_path)] == [None, None]
