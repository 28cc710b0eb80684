"""What is on disk: reports that wait, folders of earlier Runners, and a disk that is full."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kumihimo.runner import files
from kumihimo.runner.desk import Trouble
from kumihimo.runner.outbox import Outbox
from kumihimo.runner.records import KEPT
from kumihimo.runner.report import Report
from kumihimo.testing import scripts
from kumihimo.testing.scripts import Script
from tests.runner.in_process import AGENT, PROJECT, Bench

REPORT = Report(agent_id=AGENT, project_id=PROJECT, instance_id="ins_1", state="exited", exit_code=3)


def full_disk(monkeypatch: pytest.MonkeyPatch, which: Callable[[Path], bool]) -> list[Path]:
    """No room for the files that are meant; those that were refused."""
    refused: list[Path] = []
    write = files.write

    def full(path: Path, content: bytes) -> None:
        if which(path):
            refused.append(path)
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    monkeypatch.setattr(files, "write", full)
    return refused


def bench_with(tmp_path: Path, script: Script) -> Bench:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script.document()))
    command = json.dumps(scripts.command("codex", script=file))
    bench = Bench(tmp_path, config=f"[clients.codex]\ncommand = {command}\n")
    bench.desk.work = lambda: "starting" not in bench.desk.states()
    return bench


def once(bench: Bench) -> None:
    async def run() -> None:
        runner = bench.runner()
        try:
            async with asyncio.timeout(60):
                await runner.run_once()
        finally:
            bench.starter.close()

    asyncio.run(run())


def test_a_report_waits_on_disk_for_its_own_server_and_is_gone_when_delivered(tmp_path: Path) -> None:
    one, other = Outbox(tmp_path, "https://one"), Outbox(tmp_path, "https://other")
    assert one.put(REPORT) is None
    assert one.put(REPORT) is None
    assert Outbox(tmp_path, "https://one").waiting() == [REPORT]
    assert other.waiting() == []
    one.delivered(REPORT)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_report_is_cleared_away(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "s")
    for name, content in (("a", b""), ("b", b"{half"), ("c", b"\xff\xfe"), ("d", b"[]")):
        (tmp_path / f"{name}.json").write_bytes(content)
    outbox.put(REPORT)
    assert outbox.waiting() == [REPORT]
    assert [path.name for path in tmp_path.iterdir()] == ["ins_1.json"]


def test_a_full_disk_loses_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_with(tmp_path, Script().exit(4))
    refused = full_disk(monkeypatch, lambda path: path.parent.name == "outbox")
    once(bench)
    assert refused
    assert "unwritten" in bench.kinds()
    assert list(dict.fromkeys(bench.desk.states())) == ["starting", "alive", "exited"]
    assert (bench.desk.states().count("exited"), bench.desk.reports[-1].exit_code) == (1, 4)


def test_an_end_that_could_be_neither_written_nor_told_is_found_again_by_the_next_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = bench_with(tmp_path, Script().errors("the last words\n").exit(4))
    with monkeypatch.context() as patched:
        full_disk(patched, lambda path: path.parent.name == "outbox")
        tell = bench.tell

        def told(kind: str, facts: dict[str, Any]) -> None:
            tell(kind, facts)
            if kind == "ended":
                bench.desk.trouble = Trouble("away")

        bench.tell = told  # type: ignore[method-assign]
        with pytest.raises(Trouble):
            once(bench)
        bench.tell = tell  # type: ignore[method-assign]
    assert set(bench.desk.states()) == {"starting", "alive"}
    bench.desk.trouble = None
    once(bench)
    assert bench.desk.states()[-1] == "exited"
    assert (bench.desk.reports[-1].exit_code, bench.desk.reports[-1].last_lines) == (4, "the last words")
    once(bench)
    assert bench.desk.states().count("exited") == 1


def test_with_no_room_for_a_record_nothing_is_started_or_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = bench_with(tmp_path, Script("never", log=tmp_path / "log"))
    full_disk(monkeypatch, lambda path: path.name in ("record.json", "patience.json"))
    once(bench)
    assert bench.desk.reports == []
    assert bench.kinds() == ["connected", "unwritten", "cooling", "unwritten", "ignored"]
    assert scripts.records(tmp_path / "log") == []


def test_a_start_that_the_server_does_not_want_any_more_is_not_made(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, Script("never", log=tmp_path / "log"))
    bench.desk.rejects = "starting"
    once(bench)
    assert bench.kinds() == ["connected", "rejected", "ignored"]
    assert scripts.records(tmp_path / "log") == []
    assert list((bench.state / "instances").iterdir()) == []


def test_a_report_that_nobody_wants_is_put_away(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, Script().exit(0))
    bench.desk.rejects = "exited"
    once(bench)
    assert "rejected" in bench.kinds()
    assert bench.outbox.waiting() == []
    assert bench.records.open() == []


def test_the_output_of_what_is_done_is_kept_for_some_days(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, Script().say("Hello"))
    once(bench)
    (folder,) = (bench.state / "instances").iterdir()
    assert b"Hello" in (folder / "out").read_bytes()
    assert not (folder / "in").exists()
    assert {path.stat().st_mode & 0o077 for path in (folder, folder / "out", folder / "err")} == {0}
    bench.clock.at += KEPT + timedelta(seconds=1)
    once(bench)
    assert list((bench.state / "instances").iterdir()) == []


def test_what_an_agent_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    bench = bench_with(tmp_path, Script("messy", log=tmp_path / "log").daemon(ignore_term=True).child())
    once(bench)
    left = [record for record in scripts.records(tmp_path / "log") if record["event"] in ("daemon", "child")]
    assert len(left) == 2
    assert not any(scripts.is_alive(record) for record in left)
