"""Streams as they are in life: half lines, no lines, no JSON, no UTF-8, endless ones, and a flood of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .home import Home
from .patience import until

_NOISE = [
    b"plain words\n",
    b"\xff\xfe\xfa invalid\n",
    b'{"type": "item.completed", "item": {"type": "agent_message", "text": "bad \xff byte"}}\n',
    b"\x00\x00\n",
    b"\n",
    b"with a return\r\n",
    b'{"type": \n',
    b"[" * 5_000 + b"\n",
    b'{"a":' * 2_000 + b"\n",
    b'"a string"\n42\nnull\n[]\n{}\n',
    b'{"type": 7, "item": []}\n{"type": "item.completed", "item": {"type": null}}\n',
    "改行のない日本語\u2028と区切り\u0085\n".encode(),
]


def memory(pid: int, name: str) -> int:
    """Bytes, as the kernel has them: VmRSS now, VmHWM at most."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    raise AssertionError(name)


def test_noise_in_a_stream_is_counted_and_harms_nothing(home: Home) -> None:
    home.supervisor()
    noise = b"".join(_NOISE)
    (run,) = home.run(home.script("one").say("before").raw(noise).tool("search").say("after"))
    (ended,) = home.ended([run])
    seen = home.seen(run)
    assert ended.status == "completed"
    assert (seen.lines, seen.tool_calls, seen.last_message) == (2 + 1 + noise.count(b"\n") + 2 + 1 + 1, 1, "after")
    assert len(home.lines(run)) == seen.lines


def test_half_a_line_is_not_told_before_its_other_half(home: Home) -> None:
    home.supervisor()
    gate = home.folder / "gate"
    (run,) = home.run(home.script("one").say("whole").half_line("half and half", until=gate))
    until(lambda: home.seen(run).lines == 3, "the whole lines")
    assert home.seen(run).last_message == "whole"
    assert len(home.board.outputs.read(run.id, None, None).lines) == 3
    gate.touch()
    home.ended([run])
    assert (home.seen(run).lines, home.seen(run).last_message) == (5, "half and half")
    assert len(home.lines(run)) == 5


def test_a_last_line_without_an_end_is_a_line(home: Home) -> None:
    home.supervisor()
    (run,) = home.run(home.script("one").say("hello").raw(b"and th").exit(0))
    (ended,) = home.ended([run])
    assert (ended.status, ended.failure_reason) == ("failed", "protocol")
    assert home.seen(run).lines == 4
    assert home.lines(run)[-1] == "and th"


def test_an_agent_that_prints_nothing_at_all_has_not_succeeded(home: Home) -> None:
    home.supervisor()
    (run,) = home.run(home.script("one", opening=False).silent())
    (ended,) = home.ended([run])
    assert (ended.status, ended.failure_reason, ended.exit_code) == ("failed", "protocol", 0)
    assert home.lines(run) == []


@pytest.mark.slow
def test_very_long_lines_are_lines_like_others_and_take_no_more_memory_than_there_is(home: Home) -> None:
    supervisor = home.supervisor()
    script = home.script("one").long_line(20 << 20).long_line(70 << 20).say("after").tool("search")
    (run,) = home.run(script)
    (ended,) = home.ended([run])
    seen = home.seen(run)
    assert ended.status == "completed"
    assert (seen.lines, seen.tool_calls, seen.last_message) == (2 + 2 + 1 + 2 + 1, 1, "after")
    assert memory(supervisor.pid, "VmHWM") < 400 << 20
    (after,) = home.run(home.script("two"))
    assert home.ended([after])[0].status == "completed"


def test_a_flood_of_lines_is_counted_to_the_last(home: Home) -> None:
    home.supervisor()
    (run,) = home.run(home.script("one").lines(50_000, text="line {n} of the flood"))
    (ended,) = home.ended([run])
    assert (ended.status, home.seen(run).lines) == ("completed", 50_003)
    lines = home.lines(run)
    assert len(lines) == 50_003
    told = [f'"line {n} of the flood"' in line for n, line in enumerate(lines[2:-1], 1)]
    assert all(told)


def test_an_agent_that_prints_nul_ends_as_any_other_on_either_database(either_home: Home) -> None:
    either_home.supervisor()
    thread = b'{"type":"thread.started","thread_id":"t\\u0000"}\n'
    failed = b'{"type":"turn.failed","error":{"message":"it broke\\u0000"}}\n'
    (told,) = either_home.run(either_home.script("told", opening=False).raw(thread).raw(failed).exit(1))
    (silent,) = either_home.run(either_home.script("silent", opening=False).errors("it \0 broke").exit(1))
    ends = either_home.ended([told, silent])
    assert [end.status for end in ends] == ["failed", "failed"]
    assert ["broke" in (end.error or "") for end in ends] == [True, True]
