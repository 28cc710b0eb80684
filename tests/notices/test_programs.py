"""Programs that are told: a command of the user's, and the desktop's own."""

from __future__ import annotations

import json
import os
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kumihimo.domain.notice import Notice
from kumihimo.domain.notice_channel import KINDS, Channels, CommandHook, Desktop, Webhook
from kumihimo.engine.notifying.channel import Undelivered
from kumihimo.engine.notifying.channels import open_channels
from kumihimo.engine.notifying.command import CommandChannel
from kumihimo.engine.notifying.desktop import DesktopChannel
from tests.lead.shop import until

NOTICE = Notice("ntc_1", "failed", "coder has failed", "; rm -rf /", "exec_1", "shop", datetime(2026, 1, 1, tzinfo=UTC))

WRITES_DOWN = """
import json, os, sys
told = {name: value for name, value in os.environ.items() if name.startswith("KUMI_")}
open(sys.argv[1], "w").write(json.dumps({"notice": json.load(sys.stdin), "environment": told}))
"""
NEVER_ENDS = """
import json, os, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
open(sys.argv[1] + ".new", "w").write(json.dumps([os.getpid(), child.pid]))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


def command(tmp_path: Path, program: str, seconds: float = 30.0) -> tuple[CommandChannel, Path]:
    script, written = tmp_path / "hook.py", tmp_path / "written"
    script.write_text(program)
    return CommandChannel([sys.executable, str(script), str(written)], KINDS, seconds), written


def test_a_command_reads_the_notice_and_finds_it_in_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUMI_TOKEN", "kumi-secret")
    channel, written = command(tmp_path, WRITES_DOWN)
    channel.tell(NOTICE)
    told = json.loads(written.read_text())
    assert told["notice"]["id"] == "ntc_1"
    assert told["notice"]["url"] is None
    environment = told["environment"]
    assert environment["KUMI_NOTICE_KIND"] == "failed"
    assert environment["KUMI_NOTICE_TEXT"] == "; rm -rf /"
    assert environment["KUMI_NOTICE_AT"] == "2026-01-01T00:00:00Z"
    assert environment["KUMI_NOTICE_URL"] == ""
    assert "KUMI_TOKEN" not in environment


@pytest.mark.slow
def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    channel, written = command(tmp_path, NEVER_ENDS, seconds=5.0)
    with pytest.raises(Undelivered, match="took longer than 5 s") as refused:
        channel.tell(NOTICE)
    assert not refused.value.again
    pids = json.loads(written.read_text())
    assert len(pids) == 2
    until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() and is_running(pid) for pid in pids))


def is_running(pid: int) -> bool:
    """Not gone, and no zombie either."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_command_that_fails_says_why_and_is_not_run_again(tmp_path: Path) -> None:
    channel, _ = command(tmp_path, "import sys; sys.exit('the bell is broken')")
    with pytest.raises(Undelivered, match="ended with 1: the bell is broken") as refused:
        channel.tell(NOTICE)
    assert not refused.value.again


def test_a_command_that_leaves_something_running_holds_nobody_up(tmp_path: Path) -> None:
    program = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, file=open(sys.argv[1], 'w'))"
    channel, written = command(tmp_path, program)
    channel.tell(NOTICE)
    left = int(written.read_text())
    assert is_running(left)
    os.kill(left, 9)


def desktop(folder: Path, name: str) -> Path:
    """A program of that name that writes its arguments down."""
    program, written = folder / name, folder / "shown"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {written}\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return written


def test_the_desktop_shows_the_notice_and_its_words_are_only_words(tmp_path: Path) -> None:
    shown = desktop(tmp_path, "notify-send")
    opened = open_channels(Channels(desktop=Desktop()), {"PATH": str(tmp_path)})
    opened.channels[0].tell(NOTICE)
    assert shown.read_text().splitlines() == [
        "--app-name=Kumihimo", "--urgency=normal", "--", "shop: coder has failed", "; rm -rf /",
    ]  # fmt: skip


def test_a_mac_is_told_by_arguments_and_not_by_a_program_made_of_words(tmp_path: Path) -> None:
    shown = desktop(tmp_path, "osascript")
    DesktopChannel(KINDS, str(tmp_path / "osascript")).tell(NOTICE)
    lines = shown.read_text().splitlines()
    assert lines[0] == "-e"
    assert "rm -rf" not in "".join(lines[1:4])
    assert lines[-2:] == ["shop: coder has failed", "; rm -rf /"]


def test_channels_that_cannot_work_are_named_and_the_others_work(tmp_path: Path) -> None:
    asked = Channels(
        webhook=Webhook("http://localhost/", secret="${NOT_SET_ANYWHERE}"),
        command=CommandHook((sys.executable,)),
        desktop=Desktop(),
    )
    opened = open_channels(asked, {"PATH": str(tmp_path)})
    assert [channel.name for channel in opened.channels] == ["command"]
    assert "NOT_SET_ANYWHERE" in opened.problems["webhook"]
    assert "notify-send" in opened.problems["desktop"]
    assert open_channels(Channels(desktop=Desktop(enabled=False)), {}).problems == {}


def test_a_secret_that_stands_in_the_file_is_refused_without_being_repeated() -> None:
    opened = open_channels(Channels(webhook=Webhook("http://localhost/", secret="hunter2hunter2")), {})
    assert opened.channels == []
    assert "hunter2" not in opened.problems["webhook"]


def test_an_address_may_come_from_the_environment_and_is_not_repeated_where_it_is_none() -> None:
    asked = Channels(webhook=Webhook("${HOOK}"))
    assert [channel.name for channel in open_channels(asked, {"HOOK": "https://example.com/s/hush"}).channels]
    assert "hush" not in open_channels(asked, {"HOOK": "gopher://hush"}).problems["webhook"]
